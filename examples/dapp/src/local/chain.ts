import type { CurrentDraw, PoolItem } from '@pooled-savings/client';
import {
  type Abi,
  type Address,
  createWalletClient,
  defineChain,
  http,
  parseAbi,
  parseEther,
  publicActions,
  testActions,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Circle } from '../circle-texts.js';
import { secondsTo, setChainTime } from '../clock.js';
import { type LocalConfig, callsAt, isVault } from '../session.js';
import type { WalletChoice } from '../wallets.js';

/**
 * What otherwise needs the contracts' owner or time to pass. On the chain of `npm start` it can be done at once, so
 * that yield, claims and draws can be tried within a minute.
 */
const ABI: Abi = parseAbi([
  'function mint(address to, uint256 amount)',
  'function approve(address spender, uint256 amount)',
  'function accrueYield(bytes16 poolId, uint256 amount, uint32 aprBps)',
  'function openDraw(uint256 ticketPrice, uint64 drawTime)',
  'function currentDraw() view returns (uint64)',
  'function fundPrize(uint64 drawId, uint256 amount)',
  'function closeDraw(uint64 drawId)',
  'function completeDraw(uint64 drawId)',
  'function cancelDraw(uint64 drawId)',
  'function join(uint64 circleId, bytes16 ref)',
  'function contribute(uint64 circleId, bytes16 ref)',
]);

const GIFT = parseEther('1000');
const ETHER = parseEther('10');
const YIELD_PERCENT = 5n;
const YIELD_BASIS_POINTS = 525;
const DRAW_SECONDS = 60;
const PRIZE = parseEther('25');
const TICKET_PRICE = parseEther('1');
/** Steps in which the chain goes forward to a time. */
const STEPS = 4;
const NO_REFERENCE = `0x${'0'.repeat(32)}`;

/**
 * Keys that every development chain funds. They are public and worth nothing elsewhere. The first owns the contracts of
 * the local chain; the second is for trying things out; the others are people to share a circle with.
 */
const KEEPER = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const SAVER = '0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a';
const OTHERS = [
  '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
] as const;

const localWallet = (key: `0x${string}`, { rpcUrl, chainId: id }: LocalConfig) => {
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 };
  const rpcUrls = { default: { http: [rpcUrl] } };
  return createWalletClient({
    account: privateKeyToAccount(key),
    chain: defineChain({ id, name: 'Local chain', nativeCurrency, rpcUrls }),
    transport: http(rpcUrl),
  });
};

export class LocalChain {
  /** For trying the page without a wallet. */
  readonly wallet: WalletChoice = {
    id: 'built-in',
    name: 'Test wallet of the local chain',
    connect: () => localWallet(SAVER, this.config),
  };
  private readonly keeper;
  private readonly savers;
  private readonly token: Address;

  constructor(private readonly config: LocalConfig) {
    this.keeper = localWallet(KEEPER, config)
      .extend(publicActions)
      .extend(testActions({ mode: 'anvil' }));
    this.savers = OTHERS.map((key) => localWallet(key, config));
    this.token = config.token.address as Address;
    void this.now().then(setChainTime, () => undefined);
  }

  /** People to share a circle with, who do their part when they are asked to. */
  get saverAddresses(): string[] {
    return this.savers.map(({ account }) => account.address);
  }

  /** Those of them who have not done their part in the circle, and can. */
  saversIn({ state, members, joinBy, roundEnd }: Circle) {
    if (state === 'JOINING' ? secondsTo(joinBy) === 0 : state !== 'RUNNING' || secondsTo(roundEnd!) === 0)
      return [];
    const late = members.filter(({ joinedAt, paid }) => (state === 'JOINING' ? !joinedAt : !paid));
    return this.savers.filter(({ account }) =>
      late.some((each) => each.account === account.address.toLowerCase()),
    );
  }

  /** Has them join the circle, or pay for its round. */
  async actIn(circle: Circle): Promise<void> {
    const contract = circle.contract as Address;
    const [name, amount] =
      circle.state === 'JOINING' ? ['join', circle.collateral] : ['contribute', circle.contribution];
    for (const saver of this.saversIn(circle)) {
      await this.call(this.token, 'mint', [saver.account.address, BigInt(amount)]);
      await this.call(this.token, 'approve', [contract, BigInt(amount)], saver);
      await this.call(contract, name, [BigInt(circle.circleId), NO_REFERENCE], saver);
    }
  }

  /** Moves the chain to a time, by blocks so far apart: a jump of its clock would be permanent. */
  async passTo(time: string): Promise<void> {
    const missing = Math.ceil(Date.parse(time) / 1000) - Number(await this.now());
    if (missing > 0) await this.mine(STEPS, Math.ceil(missing / STEPS));
    setChainTime(await this.now());
  }

  /** Gives the account tokens, and ether for fees. */
  async fund(account: string): Promise<void> {
    const address = account as Address;
    await this.call(this.token, 'mint', [address, GIFT]);
    if ((await this.keeper.getBalance({ address })) < ETHER / 10n)
      await this.keeper.setBalance({ address, value: ETHER });
  }

  /** Adds yield of five percent of the pool's money. */
  async accrue({ id, contractAddress, balance, pendingBalance }: PoolItem): Promise<void> {
    const contract = contractAddress as Address;
    const amount = ((BigInt(balance) - BigInt(pendingBalance)) * YIELD_PERCENT) / 100n;
    // All that a vault is sent it has earned.
    if (isVault(callsAt(this.config, contractAddress)))
      return this.call(this.token, 'mint', [contract, amount]);
    await this.pay(contract, amount);
    const pool: `0x${string}` = `0x${id.replaceAll('-', '')}`;
    await this.call(contract, 'accrueYield', [pool, amount, YIELD_BASIS_POINTS]);
  }

  /** Cancels the open draw, if there is one, and opens another that ends in a minute. */
  async openShortDraw(open: CurrentDraw | null): Promise<void> {
    const lottery = this.config.contracts.lottery as Address;
    if (open) await this.call(lottery, 'cancelDraw', [BigInt(open.drawId)]);
    // The newest block may be older than a draw lasts: blocks come with transactions alone.
    const { timestamp } = await this.keeper.getBlock({ blockTag: 'pending' });
    await this.call(lottery, 'openDraw', [TICKET_PRICE, timestamp + BigInt(DRAW_SECONDS)]);
    const current = await this.keeper.readContract({
      ...{ address: lottery, abi: ABI, functionName: 'currentDraw' },
    });
    await this.pay(lottery, PRIZE);
    await this.call(lottery, 'fundPrize', [current, PRIZE]);
  }

  /** Moves the chain to the draw's time, closes the draw and picks the winner, who can then take the prize. */
  async endDraw({ drawId, drawTime, contract }: CurrentDraw): Promise<void> {
    const lottery = contract as Address;
    await this.passTo(drawTime);
    await this.call(lottery, 'closeDraw', [BigInt(drawId)]);
    await this.mine(2, 1);
    await this.call(lottery, 'completeDraw', [BigInt(drawId)]);
  }

  private async pay(contract: Address, amount: bigint): Promise<void> {
    await this.call(this.token, 'mint', [this.keeper.account.address, amount]);
    await this.call(this.token, 'approve', [contract, amount]);
  }

  private async now(): Promise<bigint> {
    return (await this.keeper.getBlock()).timestamp;
  }

  private async mine(blocks: number, interval: number): Promise<void> {
    await this.keeper.setBlockTimestampInterval({ interval });
    try {
      await this.keeper.mine({ blocks });
    } finally {
      await this.keeper.removeBlockTimestampInterval();
    }
  }

  private async call(
    address: Address,
    functionName: string,
    args: readonly unknown[],
    by: ReturnType<typeof localWallet> = this.keeper,
  ): Promise<void> {
    const hash = await by.writeContract({ address, abi: ABI, functionName, args });
    const { status } = await this.keeper.waitForTransactionReceipt({
      ...{ hash, pollingInterval: 100, checkReplacement: false },
    });
    if (status !== 'success') throw new Error(`${functionName} was reverted`);
  }
}

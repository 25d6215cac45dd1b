import {
  type Address,
  BaseError,
  ContractFunctionRevertedError,
  type Hash,
  type Hex,
  type TransactionReceipt,
  parseEther,
  parseGwei,
  parseSignature,
  toHex,
} from 'viem';
import { contractAbi } from '#ledger/chain/contract.abi';
import { startAnvil, type AnvilNode, type AnvilOptions } from '#dev/anvil';
import { anvilRpc, artifacts, connect, deploy, devAccount, execute, fund, read } from '#dev/deploy';
import { type DevClient, receiptOf } from '#dev/deploy';

export const POOL = `0x${'a1'.repeat(16)}`;
export const OTHER_POOL = `0x${'b2'.repeat(16)}`;
export const REF = `0x${'c3'.repeat(16)}`;
export const NO_REF = `0x${'00'.repeat(16)}`;
export const PRICE = parseEther('2');
export const HOUR = 3600n;
const PIECE = 500;

/** The node mines only where it is asked to while the work lasts. */
export async function minedByHand<T>(client: DevClient, work: () => Promise<T>): Promise<T> {
  await anvilRpc(client, 'evm_setAutomine', false);
  return work().finally(() => anvilRpc(client, 'evm_setAutomine', true));
}

/** A chain of its own with a LotteryPool, its owner and two accounts that have tokens. */
export class ContractBench {
  pool: Address = '0x';
  token: Address;

  private constructor(
    readonly anvil: AnvilNode,
    readonly owner: DevClient,
    readonly alice: DevClient,
    readonly bob: DevClient,
    private readonly testToken: Address,
  ) {
    this.token = testToken;
  }

  static async start(options?: AnvilOptions): Promise<ContractBench> {
    const anvil = await startAnvil(options);
    const [owner, alice, bob] = await Promise.all([0, 1, 2].map((i) => connect(anvil.url, devAccount(i))));
    const { address } = await deploy(owner, artifacts.TestToken);
    return new ContractBench(anvil, owner, alice, bob, address);
  }

  async newPool(minimumDeposit = 1n, token = this.testToken): Promise<void> {
    this.token = token;
    const args = [token, this.owner.account.address, minimumDeposit];
    this.pool = (await deploy(this.owner, artifacts.LotteryPool, args)).address;
    for (const client of [this.owner, this.alice, this.bob]) {
      await fund(client, this.token, this.pool, parseEther('1000'));
    }
  }

  /** Gives the account as many tokens more, which the pool may take. */
  mint(client: DevClient, amount: bigint): Promise<void> {
    return fund(client, this.token, this.pool, amount);
  }

  call(client: DevClient, name: string, ...args: unknown[]): Promise<TransactionReceipt> {
    return execute(client, 'LotteryPool', this.pool, name, args);
  }

  view<T = bigint>(name: string, ...args: unknown[]): Promise<T> {
    return read<T>(this.owner, 'LotteryPool', this.pool, name, args);
  }

  tokens(of: Address): Promise<bigint> {
    return read<bigint>(this.owner, 'TestToken', this.token, 'balanceOf', [of]);
  }

  events() {
    return this.owner.getContractEvents({
      address: this.pool,
      abi: contractAbi,
      fromBlock: 0n,
      strict: true,
    });
  }

  /** In pieces: a request that takes too long is sent again, and would mine twice. */
  async mine(blocks: number): Promise<void> {
    for (let left = blocks; left > 0; left -= PIECE)
      await anvilRpc(this.owner, 'anvil_mine', Math.min(left, PIECE));
  }

  /** The next block comes so many seconds after the latest one. */
  async after(seconds: bigint): Promise<void> {
    const { timestamp } = await this.owner.getBlock();
    await anvilRpc(this.owner, 'evm_setNextBlockTimestamp', toHex(timestamp + seconds));
  }

  /** Mines the calls in one block, in this order, and so at the same second. @returns whether each went through */
  async inOneBlock(...calls: [client: DevClient, name: string, ...args: unknown[]][]): Promise<boolean[]> {
    return minedByHand(this.owner, async () => {
      const hashes: Hash[] = [];
      const nonces = new Map<DevClient, number>();
      for (const [client, functionName, ...args] of calls) {
        const { address } = client.account;
        const nonce = nonces.get(client) ?? (await client.getTransactionCount({ address }));
        nonces.set(client, nonce + 1);
        const gas = 1_000_000n;
        // The node orders transactions by what they pay.
        const maxPriorityFeePerGas = parseGwei('100') - BigInt(hashes.length);
        const maxFeePerGas = parseGwei('200');
        const call = { abi: artifacts.LotteryPool.abi, address: this.pool, functionName, args };
        hashes.push(await client.writeContract({ ...call, gas, nonce, maxFeePerGas, maxPriorityFeePerGas }));
      }
      await this.mine(1);
      const receipts = await Promise.all(hashes.map((hash) => receiptOf(this.owner, hash)));
      const places = receipts.map(({ blockNumber, transactionIndex }) => [blockNumber, transactionIndex]);
      expect(places).toEqual(receipts.map((_, index) => [receipts[0].blockNumber, index]));
      return receipts.map(({ status }) => status === 'success');
    });
  }

  async passTime(seconds: bigint): Promise<void> {
    await anvilRpc(this.owner, 'evm_increaseTime', Number(seconds));
    await this.mine(1);
  }

  async openDraw(): Promise<bigint> {
    const { timestamp } = await this.owner.getBlock();
    await this.call(this.owner, 'openDraw', PRICE, timestamp + HOUR);
    return this.view('currentDraw');
  }
}

export type Permit = [deadline: bigint, v: bigint, r: Hex, s: Hex];
const PERMIT = {
  owner: 'address',
  spender: 'address',
  value: 'uint256',
  nonce: 'uint256',
  deadline: 'uint256',
};

/** What a wallet signs so that the spender may take this amount of a TestToken. */
export async function signPermit(
  client: DevClient,
  token: Address,
  { spender, value, deadline }: { spender: Address; value: bigint; deadline: bigint },
): Promise<Permit> {
  const owner = client.account.address;
  const nonce = await read<bigint>(client, 'TestToken', token, 'nonces', [owner]);
  const signature = await client.signTypedData({
    domain: { name: 'Test Token', version: '1', chainId: client.chain.id, verifyingContract: token },
    types: { Permit: Object.entries(PERMIT).map(([name, type]) => ({ name, type })) },
    primaryType: 'Permit',
    message: { owner, spender, value, nonce, deadline },
  });
  const { r, s, v } = parseSignature(signature);
  return [deadline, v!, r, s];
}

/** The name of the error a call reverts with, undefined if it goes through; any other failure is thrown. */
export async function revertOf(sent: Promise<unknown>): Promise<string | undefined> {
  try {
    await sent;
    return undefined;
  } catch (error) {
    const revert =
      error instanceof BaseError && error.walk((e) => e instanceof ContractFunctionRevertedError);
    if (revert instanceof ContractFunctionRevertedError && revert.data) return revert.data.errorName;
    throw error;
  }
}

import { type Address, type Hex, type TransactionReceipt, parseEther, toHex } from 'viem';
import { rotatingPoolAbi } from '#ledger/chain/rotating.abi';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import { type DevClient, anvilRpc, artifacts, connect, deploy, devAccount, execute, fund } from '#dev/deploy';
import { read } from '#dev/deploy';
import { NO_REF, POOL } from '../chain/contracts';

export const DAY = 86_400;
export const CONTRIBUTION = 100n;
/** A circle's status, and what anyone may do for it. */
export const Status = { NONE: 0, JOINING: 1, RUNNING: 2, COMPLETED: 3, CANCELLED: 4 };
export const Due = { NOTHING: 0, END_ROUND: 1, CANCEL: 2 };

export interface Circle {
  until: bigint;
  listed: bigint;
  round: number;
  status: number;
  joined: number;
  paid: number;
}

export interface Terms {
  poolId: string;
  contribution: bigint;
  collateral: bigint;
  period: number;
  /** Seconds from the latest block on. */
  joining: number;
  members: readonly Address[];
  by: DevClient;
}

/** A chain of its own with a RotatingPool, and accounts that have tokens for it. The first is a member too. */
export class CircleBench {
  pool: Address = '0x';
  /** That of the pool. */
  token: Address = '0x';

  private constructor(
    readonly anvil: AnvilNode,
    readonly clients: readonly DevClient[],
    private readonly testToken: Address,
  ) {}

  /** @param running a node that is there already */
  static async start(count: number, running?: AnvilNode): Promise<CircleBench> {
    const anvil = running ?? (await startAnvil());
    const clients = await Promise.all(
      Array.from({ length: count }, (_, index) => connect(anvil.url, devAccount(index))),
    );
    for (const { account } of clients)
      await anvilRpc(clients[0], 'anvil_setBalance', account.address, toHex(parseEther('1000')));
    return new CircleBench(anvil, clients, (await deploy(clients[0], artifacts.TestToken)).address);
  }

  get organiser(): DevClient {
    return this.clients[0];
  }

  /** @param token TestToken, unless told otherwise */
  async newPool(minimumDeposit = 1n, token = this.testToken): Promise<void> {
    this.token = token;
    this.pool = (await deploy(this.organiser, artifacts.RotatingPool, [token, minimumDeposit])).address;
    for (const client of this.clients) await fund(client, token, this.pool, parseEther('1'));
  }

  call(client: DevClient, name: string, ...args: unknown[]): Promise<TransactionReceipt> {
    return execute(client, 'RotatingPool', this.pool, name, args);
  }

  view<T = bigint>(name: string, ...args: unknown[]): Promise<T> {
    return read<T>(this.organiser, 'RotatingPool', this.pool, name, args);
  }

  circle(id: bigint): Promise<Circle> {
    return this.view('circleOf', id);
  }

  /** @returns payout and refund */
  claimable(id: bigint, client: DevClient): Promise<readonly [bigint, bigint]> {
    return this.view('claimableOf', id, client.account.address);
  }

  tokens(of: Address = this.pool): Promise<bigint> {
    return read<bigint>(this.organiser, 'TestToken', this.token, 'balanceOf', [of]);
  }

  async now(): Promise<bigint> {
    return (await this.organiser.getBlock()).timestamp;
  }

  /** The next block, whichever it is, has this time. */
  async at(time: bigint): Promise<void> {
    await anvilRpc(this.organiser, 'evm_setNextBlockTimestamp', toHex(time));
  }

  async passTime(seconds: number): Promise<void> {
    await this.at((await this.now()) + BigInt(seconds));
    await anvilRpc(this.organiser, 'anvil_mine', 1);
  }

  /** Of all accounts, unless told otherwise. */
  async opening(terms: Partial<Terms> = {}): Promise<unknown[]> {
    const { poolId = POOL, contribution = CONTRIBUTION, collateral = 0n, period = DAY } = terms;
    const members = terms.members ?? this.clients.map(({ account }) => account.address);
    const joinBy = (await this.now()) + BigInt(terms.joining ?? DAY);
    return [poolId, contribution, collateral, period, joinBy, members];
  }

  async open(terms: Partial<Terms> = {}): Promise<bigint> {
    await this.call(terms.by ?? this.organiser, 'openCircle', ...(await this.opening(terms)));
    return this.view('circles');
  }

  /** Opens it, and all join. */
  async started(terms: Partial<Terms> = {}): Promise<bigint> {
    const id = await this.open(terms);
    for (const client of this.membersOf(terms)) await this.call(client, 'join', id, NO_REF);
    return id;
  }

  /** All pay but some, whose time then passes, and the round is ended. */
  async round(
    id: bigint,
    { without = [] as DevClient[], ...terms }: Partial<Terms> & { without?: DevClient[] } = {},
  ) {
    const payers = this.membersOf(terms).filter((client) => !without.includes(client));
    for (const client of payers) await this.call(client, 'contribute', id, NO_REF);
    if (without.length > 0) await this.passTime(terms.period ?? DAY);
    return this.call(this.organiser, 'endRound', id);
  }

  async events(transactionHash?: Hex) {
    const given = { address: this.pool, abi: rotatingPoolAbi, fromBlock: 0n, strict: true } as const;
    const found = await this.organiser.getContractEvents(given);
    return found.filter((event) => !transactionHash || event.transactionHash === transactionHash);
  }

  private membersOf({ members }: Partial<Terms>): DevClient[] {
    return this.clients.filter(({ account }) => !members || members.includes(account.address));
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { v7 as newId } from 'uuid';
import { type Address, encodeFunctionData, parseEther, toHex } from 'viem';
import { bytes16 } from '#values/bytes16';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import {
  type ContractName,
  type Deployment,
  type DevClient,
  anvilRpc,
  artifacts,
  connect,
  deployContracts,
  devAccount,
  execute,
  fund,
  read,
} from '#dev/deploy';
import type { Progress } from './output';

const SAVERS = 10;
const POOLS = 1000;
const AMOUNT = 10n ** 15n;
/** The time of the first block, in seconds. Most of a backfill is history, whose events are not published one by one. */
export const GENESIS = Date.UTC(2024, 0, 1) / 1000;
/** A withdrawal, an accrual and a purchase of tickets, which makes two events, for so many of a saver's deposits. */
const OTHERS_EVERY = 1000;
const OTHERS = 4;

const NO_REF = bytes16('0'.repeat(32));

/** A pool and its first deposit, as the API announces them. */
export interface Pool {
  id: string;
  deposit: string;
  owner: string;
}

export const newPools = (owners: string[]): Pool[] =>
  Array.from({ length: POOLS }, (_, i) => ({
    id: newId(),
    deposit: newId(),
    owner: owners[i % owners.length].toLowerCase(),
  }));

/** A chain with as many events of the reference contracts, nearly all of them deposits of ten savers in 1,000 pools. */
export class BenchChain {
  readonly pools: Pool[];

  private constructor(
    readonly node: AnvilNode,
    readonly deployment: Deployment,
    private readonly savers: DevClient[],
  ) {
    this.pools = newPools(savers.map(({ account }) => account.address));
  }

  static async start(): Promise<BenchChain> {
    const node = await startAnvil({ extraArgs: ['--timestamp', `${GENESIS}`] });
    const deployment = await deployContracts(node.url, { minimumDeposit: 1n });
    const savers = Array.from({ length: SAVERS }, (_, i) => connect(node.url, devAccount(i)));
    return new BenchChain(node, deployment, await Promise.all(savers));
  }

  /** @returns how many events there are, at least `wanted` */
  async emit(wanted: number, progress: Progress): Promise<number> {
    const { cooperative, lottery } = this.deployment.contracts;
    for (const saver of this.savers)
      await fund(saver, this.deployment.token, cooperative, parseEther('1000000'));
    const [owner] = this.savers;
    await fund(owner, this.deployment.token, lottery, parseEther('1000000'));
    const { timestamp } = await owner.getBlock();
    await execute(owner, 'LotteryPool', lottery, 'openDraw', [1n, timestamp + 10_000_000n]);
    let events = 1;
    let others = 0;
    for (let turn = 0; events < wanted; turn++) {
      const saver = this.savers[turn % SAVERS];
      const pools = this.pools.filter((_, i) => i % SAVERS === turn % SAVERS);
      const ids = pools.map(({ id }) => bytes16(id));
      const refs = pools.map(({ deposit }) => (turn < SAVERS ? bytes16(deposit) : NO_REF));
      await this.send(saver, 'SavingsPool', cooperative, 'depositMany', [ids, refs, ids.map(() => AMOUNT)]);
      events += ids.length;
      progress.step('emitting', ids.length);
      if (turn === SAVERS) await this.passTime(owner);
      if (turn < SAVERS || (turn * ids.length) % OTHERS_EVERY > 0) continue;
      const id = ids[others++ % ids.length];
      await this.send(saver, 'SavingsPool', cooperative, 'withdraw', [id, NO_REF, 7n]);
      await this.send(owner, 'SavingsPool', cooperative, 'accrueYield', [id, 10n ** 12n, 500]);
      await this.send(owner, 'LotteryPool', lottery, 'buyTickets', [1n, 3n]);
      events += OTHERS;
    }
    await this.mined(owner);
    let counted = 0n;
    for (const contract of [cooperative, lottery])
      counted += await read<bigint>(owner, 'SavingsPool', contract, 'seq');
    if (counted !== BigInt(events)) throw new Error(`the contracts emitted ${counted} events, not ${events}`);
    return events;
  }

  private async mined(client: DevClient): Promise<void> {
    const pending = async (): Promise<number> =>
      Number(((await anvilRpc(client, 'txpool_status')) as { pending: string }).pending);
    while ((await pending()) > 0) await sleep(50);
  }

  /** An accrual pays for the time that money was held: in the second of the first deposits there is none. */
  private async passTime(client: DevClient): Promise<void> {
    await this.mined(client);
    await anvilRpc(client, 'evm_increaseTime', 3600);
  }

  /** Signed by the node, with the gas given: one request, where a wallet needs four. */
  private send(
    client: DevClient,
    contract: ContractName,
    to: Address,
    functionName: string,
    args: unknown[],
  ): Promise<unknown> {
    const data = encodeFunctionData({ abi: artifacts[contract].abi, functionName, args });
    return anvilRpc(client, 'eth_sendTransaction', {
      from: client.account.address,
      to,
      data,
      gas: toHex(20_000_000),
    });
  }

  settings(): NodeJS.ProcessEnv {
    const contracts = Object.entries(this.deployment.contracts).map((pair) => pair.join('='));
    return {
      RPC_URL: this.node.url,
      POOL_CONTRACTS: contracts.join(','),
      START_BLOCK: `${this.deployment.startBlock}`,
    };
  }
}

/** Writes what the API would have written before the first event. */
export async function announce(client: Client, contract: string, pools: Pool[]): Promise<void> {
  await client.query(
    `CREATE TEMPORARY TABLE announced AS
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS a(id, deposit, owner)`,
    [pools.map(({ id }) => id), pools.map(({ deposit }) => deposit), pools.map(({ owner }) => owner)],
  );
  await client.query(
    `INSERT INTO users SELECT gen_random_uuid(), owner, now() FROM announced GROUP BY owner`,
  );
  await client.query(
    `INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update)
     SELECT a.id, 'cooperative', u.id, lower($1), now(), now() FROM announced a JOIN users u ON u.address = a.owner`,
    [contract],
  );
  await client.query(`INSERT INTO pool_members SELECT id, owner, 'OWNER', 'cooperative' FROM announced`);
  await client.query(
    `INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, requested_amount, created_at)
     SELECT a.deposit, p.id, p.owner_id, true, 'DEPOSIT', 'PENDING', a.owner, $1, $1, now()
     FROM announced a JOIN pools p USING (id)`,
    [AMOUNT],
  );
  await client.query('ANALYZE');
}

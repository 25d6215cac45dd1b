import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { v7 as newId } from 'uuid';
import { endpointsOf } from '#indexer/verification';
import type { AskedChain } from '#verify/contract/holdings';
import type { VerifyReport } from '#verify/checks/findings';
import { YieldModel } from '#verify/checks/yield-model';
import { type Options, verify as compare } from '#verify/verify';
import { CircleSketch } from '../circles/circle-sketch';
import { GENESIS, LOTTERY, OTHER, POOLS_CONTRACT, PaperChain, SAVER, Written } from '../chain/paper-chain';
import { until } from '../app';
import { connectTo } from '../database';
import { paperNode } from '../chain/chain-node';

/** Their rows follow from others, or are made again, so a repair may write them in another way. */
export const SUMS = ['account_days', 'owner_totals', 'member_counts', 'member_streams', 'pool_totals'];
/** Without them the indexer reads the blocks again, and takes blocks back by replaying. */
export const CACHES = ['chain_blocks', 'position_journal'];

/** What the command reports. */
export const verify = (
  options: Options,
  signal: AbortSignal = new AbortController().signal,
): Promise<VerifyReport> => compare(options, () => undefined, signal);

/** The command's report about a database and this node's chain. */
export const verifyChain = (databaseUrl: string, rpcUrl: string): Promise<VerifyReport> => {
  const endpoints = endpointsOf({
    RPC_URL: rpcUrl,
    RPC_AGREE: 1,
    RPC_REQUESTS_PER_SECOND: [],
    RPC_TIMEOUT: 60,
  });
  return verify({ databaseUrl, repair: false, limit: 20, endpoints });
};

const dashless = (id: string): string => id.replaceAll('-', '');

/** A database with some of everything that is derived, and the chain that it comes from. */
export class VerifyScene {
  readonly chain = new PaperChain();
  readonly pool = randomUUID();
  readonly other = randomUUID();
  /** Of circles: one runs, the other is cancelled. */
  readonly circles = [randomUUID(), randomUUID()];
  written: Written;
  node: AskedChain;
  /** The rows of the beginning, by their table. */
  private rows: Record<string, string>;
  /** One for all: a new connection reads the catalog again, which takes longer than what is asked here. */
  private client: Client;
  /** Switching triggers off makes a connection forget its plans. */
  private comparing: Client;

  async start(): Promise<this> {
    const { chain, pool, other } = this;
    const [paid, open] = [0, 1].map(() => newId({ msecs: GENESIS * 1000 }));
    this.written = await new Written().start(chain);
    this.client = await connectTo(this.written.databaseUrl);
    this.comparing = await connectTo(this.written.databaseUrl);
    await this.sql(
      `CREATE OR REPLACE FUNCTION few_memberships() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1'`,
    );
    await this.written.addPool(pool, [
      { id: paid, amount: '1000', at: GENESIS },
      { id: open, amount: '77', at: GENESIS + 100_000 },
    ]);
    await this.written.addPool(other);
    for (const each of [pool, other])
      await this.sql(
        `INSERT INTO pool_members (pool_id, address, role, type) VALUES ('${each}', '${OTHER}', 'MEMBER', 'cooperative')`,
      );
    this.draw();
    for (const each of this.circles) await this.written.addPool(each);
    this.circle();
    const at = { poolId: dashless(pool) };
    const model = new YieldModel();
    const move = (sketches: Parameters<PaperChain['add']>[0], seconds = 100): void => {
      const { events } = chain.add(sketches, seconds);
      for (const { kind, poolId, account, amount, time } of events)
        if (poolId === at.poolId)
          model.apply({
            kind: kind as 'Deposited',
            pool: at.poolId,
            account: account!,
            amount: BigInt(amount!),
            time: BigInt(time),
          });
    };
    move([
      { kind: 'Deposited', ...at, account: SAVER, amount: '1000', ref: dashless(paid) },
      { kind: 'Deposited', ...at, account: OTHER, amount: '500' },
      { kind: 'Deposited', poolId: dashless(other), account: OTHER, amount: '70' },
    ]);
    move([{ kind: 'YieldAccrued', ...at, amount: '90', aprBps: 250 }]);
    move([{ kind: 'Withdrawn', ...at, account: OTHER, amount: '200' }]);
    move([{ kind: 'YieldClaimed', ...at, account: SAVER, amount: `${model.claimableOf(at.poolId, SAVER)}` }]);
    // Set aside: of no pool, of no lottery.
    move([
      { kind: 'Deposited', poolId: dashless(randomUUID()), account: SAVER, amount: '9' },
      { kind: 'DrawClosed', drawId: '5', contract: POOLS_CONTRACT },
    ]);
    move([{ kind: 'YieldAccrued', ...at, amount: '40', aprBps: 300 }], 50);
    move([{ kind: 'Deposited', ...at, account: SAVER, amount: '33' }], 50);
    for (let to = 1; to < chain.blocks.length; to += 1) await this.written.apply(chain, to);
    await this.sql(`
      INSERT INTO chain_contracts VALUES ('lottery', '${LOTTERY}', 0, 0), ('cooperative', '${POOLS_CONTRACT}', 0, 0);
      INSERT INTO chain_facts (chain_id) VALUES (1);
      INSERT INTO submissions (transaction_id, account, hash, at, check_at) VALUES ('${open}', '${SAVER}', '0x1', now(), now());
      INSERT INTO cancelled_pools SELECT gen_random_uuid(), type, owner_id, '${SAVER}', contract_address, false, '{}', NULL,
        NULL, now(), now() FROM pools LIMIT 1`);
    this.node = paperNode(chain);
    // What older transactions of the server may still add to is not looked at, and other tests have some.
    const complete =
      'SELECT max(xid) < outbox_xid(pg_snapshot_xmin(pg_current_snapshot())) AS is FROM outbox';
    await until(async () => (await this.sql<{ is: boolean }>(complete))[0].is);
    await this.keepCopies();
    return this;
  }

  async stop(): Promise<void> {
    await Promise.all([this.client?.end(), this.comparing?.end()]);
    await this.written?.stop();
  }

  /** Two draws: one is won and paid, the other cancelled and paid back. */
  private draw(): void {
    const [won, cancelled] = ['1', '2'].map((drawId) => ({ contract: LOTTERY, drawId }));
    for (const draw of [won, cancelled])
      this.chain.add([
        { kind: 'DrawOpened', ...draw, amount: '5', drawTime: GENESIS + 50 },
        { kind: 'TicketsIssued', ...draw, account: SAVER, amount: '2' },
        { kind: 'PrizeFunded', ...draw, account: SAVER, amount: '10' },
        { kind: 'PrizeFunded', ...draw, account: OTHER, amount: '7' },
        { kind: 'DrawClosed', ...draw },
      ]);
    this.chain.add([
      { kind: 'DrawCompleted', ...won, account: SAVER, amount: '17' },
      { kind: 'PrizePaid', ...won, account: SAVER, amount: '17' },
      { kind: 'DrawCancelled', ...cancelled },
      { kind: 'Refunded', ...cancelled, account: OTHER, amount: '7' },
    ]);
  }

  private circle(): void {
    const people = [SAVER, OTHER];
    const [runs, cancelled] = this.circles.map((id, n) => new CircleSketch(dashless(id), people, `${n + 1}`));
    this.chain.add([...runs.open(), ...cancelled.open()]);
    this.chain.add([...runs.join(SAVER), ...cancelled.join(SAVER), ...runs.join(OTHER)]);
    this.chain.add([...runs.contribute(SAVER), ...runs.contribute(OTHER), ...cancelled.cancel()]);
    this.chain.add([...runs.endRound(), ...cancelled.refunded(SAVER, 150n)]);
    this.chain.add([...runs.paidOut(SAVER, 200n), ...runs.contribute(OTHER)]);
  }

  async verify(repair = false, endpoints?: AskedChain, limit = 1000): Promise<VerifyReport> {
    return verify({ databaseUrl: this.written.operatorUrl, repair, limit, endpoints });
  }

  /**
   * Corrupts what is derived, and repairs it: each table has its rows again then, but those that a repair may write in
   * another way. @returns what was named
   */
  async repair(statements: string[]): Promise<string[]> {
    for (const statement of statements) await this.corrupt(statement);
    const { listed, notChecked } = await this.verify(true, this.node);
    expect(notChecked).toEqual([]);
    expect(listed.filter(({ repaired }) => !repaired)).toEqual([]);
    expect((await this.changed()).filter((table) => ![...SUMS, ...CACHES].includes(table))).toEqual([]);
    expect((await this.verify(false, this.node)).listed).toEqual([]);
    return listed.map(({ kind }) => kind);
  }

  async sql<Row extends object>(text: string): Promise<Row[]> {
    return (await this.client.query<Row>(text)).rows;
  }

  /** As an account that can switch triggers off, against which the database has no rule. */
  corrupt(text: string): Promise<unknown> {
    return this.sql(`SET LOCAL session_replication_role = replica; ${text}`);
  }

  /** Every column, with its table. `isAsked`: only the API writes it, so it says what users requested. */
  columns(): Promise<{ table: string; column: string; isAsked: boolean }[]> {
    return this.sql(`
      SELECT c.relname AS table, a.attname AS column,
        has_table_privilege('savings_api', c.oid, 'INSERT') AND NOT has_table_privilege('savings_indexer', c.oid, 'INSERT')
          OR has_column_privilege('savings_api', c.oid, a.attnum, 'UPDATE')
            AND NOT has_column_privilege('savings_indexer', c.oid, a.attnum, 'UPDATE')
            AND NOT EXISTS (SELECT FROM pg_trigger g
              WHERE g.tgrelid = c.oid AND g.tgfoid = 'refuse_write'::regproc AND a.attnum = ANY (g.tgattr)) AS "isAsked"
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
      ORDER BY 1, a.attnum`);
  }

  private async keepCopies(): Promise<void> {
    const tables = [...new Set((await this.columns()).map(({ table }) => table))];
    await this.sql(`CREATE SCHEMA copies;
      ${tables.map((table) => `CREATE TABLE copies.${table} AS SELECT * FROM public.${table};`).join('\n')}`);
    this.rows = Object.fromEntries(tables.map((table) => [table, '']));
    this.rows = await this.digests();
  }

  /** The tables whose rows are not those of the beginning. The writer's share of a sum, and the time of a change, may differ. */
  async changed(): Promise<string[]> {
    const rows = await this.digests();
    return Object.keys(rows).filter((table) => rows[table] !== this.rows[table]);
  }

  private async digests(): Promise<Record<string, string>> {
    const row = `(to_jsonb(t) - 'last_update' - 'beat_at')::text`;
    const digests = Object.keys(this.rows).map(
      (table) => `(SELECT md5(string_agg(${row}, ' ' ORDER BY ${row})) FROM ${table} t) AS "${table}"`,
    );
    const text = `SELECT ${digests.join(', ')}`;
    const { rows } = await this.comparing.query<Record<string, string>>({ name: 'digests', text });
    return rows[0];
  }

  async putBack(): Promise<void> {
    const changed = await this.changed();
    await this.corrupt(
      changed
        .map((table) => `DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM copies.${table};`)
        .join('\n'),
    );
  }
}

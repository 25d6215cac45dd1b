import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import { type EventRow, keptItem } from '#indexer/ledger/event-rows';
import { standIn } from '#indexer/ledger/stand-in';
import type { ChainEvent } from '#indexer/reading/decode';
import { MAX_LOGS } from '#indexer/reading/raw-chain';
import { asMovements } from '#indexer/ledger/holdings';
import { SAVE } from '#indexer/ledger/holdings.sql';
import { isShareKind } from '#indexer/ledger/movements';
import { correct } from './pool-correction';

/** Row: vault. */
const VAULTS = `
  SELECT DISTINCT address AS vault FROM chain_contracts c
  WHERE EXISTS (SELECT FROM chain_events e WHERE e.contract = c.address AND e.shares IS NOT NULL)
  UNION SELECT DISTINCT vault FROM share_holdings ORDER BY vault`;

/** Rows of a vault in the order of their numbers. Parameters: vault, number to go on behind, limit. */
const ROWS = `
  SELECT * FROM chain_events WHERE contract = $1 AND seq > $2 AND shares IS NOT NULL ORDER BY seq LIMIT $3`;

/** Whether a row is still there. Parameters: vault, number, hash of its block. */
const IS_THERE = 'SELECT FROM chain_events WHERE contract = $1 AND seq = $2 AND block_hash = $3';

/** Rows that have to be others. Parameters: blocks, logs, hashes of blocks, kinds, accounts, amounts, shares. */
const CHANGE = `
  UPDATE chain_events e SET kind = w.kind, account = w.account, pool_name = w.name, amount = w.amount, shares = w.shares,
    pool_id = CASE e.pool_name WHEN w.name THEN e.pool_id ELSE pool_stand_in(e.contract, w.name) END
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::numeric[], $8::numeric[])
    AS w(block_number, log_index, block_hash, kind, account, name, amount, shares)
  WHERE e.block_number = w.block_number AND e.log_index = w.log_index AND e.block_hash = w.block_hash`;
/** Second rows that are missing. The same parameters. */
const ADD = `
  INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id,
    pool_name, account, amount, shares)
  SELECT e.block_number, w.log_index, e.block_hash, e.block_time, e.tx_hash, e.contract, e.seq + ${MAX_LOGS}, w.kind,
    pool_stand_in(e.contract, w.name), w.name, w.account, w.amount, w.shares
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::numeric[], $8::numeric[])
    AS w(block_number, log_index, block_hash, kind, account, name, amount, shares)
  JOIN chain_events e ON e.block_number = w.block_number AND e.log_index = w.log_index - ${MAX_LOGS}
    AND e.block_hash = w.block_hash`;
/** Second rows that should not be. Parameters: blocks, logs, hashes of blocks. */
const REMOVE = `
  DELETE FROM chain_events e USING unnest($1::bigint[], $2::bigint[], $3::text[]) AS w(block_number, log_index, block_hash)
  WHERE e.block_number = w.block_number AND e.log_index = w.log_index AND e.block_hash = w.block_hash`;

/** The schema of the tables, quoted: tables of the session stand before its own. */
const SCHEMA = 'SELECT quote_ident(current_schema()) AS schema';
/** What is made is kept in a table of the session, which stands before that of the schema. */
const MAKE_SHADOW = (schema: string): string => `
  DROP TABLE IF EXISTS pg_temp.share_holdings; CREATE TEMP TABLE share_holdings (LIKE ${schema}.share_holdings INCLUDING ALL)`;
const DROP_SHADOW = 'DROP TABLE IF EXISTS pg_temp.share_holdings';

/** Holdings that are not those made. Parameters: vault, account to go on behind, limit. */
const wrongHoldings = (schema: string): string => `
  SELECT account, coalesce(m.shares, 0)::text AS shares, coalesce(m.cost, 0)::text AS cost
  FROM (SELECT * FROM pg_temp.share_holdings WHERE vault = $1 AND account > $2) m
  FULL JOIN (SELECT * FROM ${schema}.share_holdings WHERE vault = $1 AND account > $2) k USING (account)
  WHERE (m.shares, m.cost) IS DISTINCT FROM (k.shares, k.cost) ORDER BY account LIMIT $3`;

/** Rows that are read at once, at least one block's. */
const ROWS_AT_ONCE = 5000;
const HOLDINGS_AT_ONCE = 5000;
/** A reorganisation may take away what was read. */
const MAX_TRIES = 5;

type Row = ChainEvent & { account: string };
interface Piece {
  rows: Row[];
  isLast: boolean;
}
/** What was read: the next rows are behind it. */
interface Place {
  seq: number;
  blockHash: string;
}
/** The chain has taken back what was read. */
class TakenBack extends Error {}
/** No log of a vault becomes such rows. */
class NoLog extends Error {}

const keyOf = ({ blockNumber, logIndex }: ChainEvent): string => `${blockNumber} ${logIndex}`;
const isSecond = ({ logIndex }: ChainEvent): boolean => logIndex >= MAX_LOGS;

/**
 * Rebuilds what the logs of vaults have become, vault by vault in the order of the chain: the parts of what was paid out,
 * what shares have cost that were given, and the holdings. What is made stands beside what is stored, in a table of the
 * session.
 */
export class ShareCorrection {
  /** Rows and holdings that were wrong. */
  rows = 0;
  holdings = 0;
  /** Vaults that stay as they were, and why. */
  readonly refused: string[] = [];

  /** @param reader for temporary tables, which have the names of the real ones */
  constructor(
    private readonly client: Client,
    private readonly reader: Client,
  ) {}

  async run(signal: AbortSignal): Promise<void> {
    const { rows } = await this.reader.query<{ vault: string }>(VAULTS);
    for (const { vault } of rows) await this.vault(vault, signal);
  }

  private async vault(vault: string, signal: AbortSignal): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.make(vault, signal);
        return;
      } catch (error) {
        if (error instanceof NoLog) return void this.refused.push(`vault ${vault}: ${error.message}`);
        if (!(error instanceof TakenBack) || tries === MAX_TRIES) throw error;
      } finally {
        await this.reader.query(DROP_SHADOW).catch(() => undefined);
      }
    }
  }

  /** What is near the end is made while the indexer waits, so nothing is added meanwhile. */
  private async make(vault: string, signal: AbortSignal): Promise<void> {
    const { rows: found } = await this.reader.query<{ schema: string }>(SCHEMA);
    const [{ schema }] = found;
    await this.reader.query(MAKE_SHADOW(schema));
    let place: Place = { seq: -1, blockHash: '' };
    for (;;) {
      signal.throwIfAborted();
      const { rows, isLast } = await this.read(vault, place);
      if (isLast) break;
      const wrong = await this.remake(rows);
      if (wrong.count > 0) await correct(this.client, () => this.write(wrong));
      place = { seq: rows.at(-1)!.seq, blockHash: rows.at(-1)!.blockHash };
    }
    await correct(this.client, async () => {
      await this.reader.query('BEGIN');
      try {
        await this.requireRead(vault, place);
        const { rows, isLast } = await this.read(vault, place);
        if (!isLast) throw new TakenBack('the chain is faster than the replay');
        await this.write(await this.remake(rows));
        await this.writeHoldings(vault, schema);
      } finally {
        // A conflict makes this work begin again.
        await this.reader.query('ROLLBACK');
      }
    });
  }

  private async requireRead(vault: string, { seq, blockHash }: Place): Promise<void> {
    if (seq < 0) return;
    const { rowCount } = await this.reader.query(IS_THERE, [vault, seq, blockHash]);
    if (rowCount !== 1) throw new TakenBack('blocks were taken back meanwhile');
  }

  /** Whole blocks: the second rows of a block come after all of its first. */
  private async read(vault: string, { seq }: Place, most = ROWS_AT_ONCE): Promise<Piece> {
    const { rows } = await this.reader.query<EventRow>(ROWS, [vault, seq, most]);
    const all = rows.map((row) => keptItem(row).event as Row);
    if (all.length < most) return { rows: all, isLast: true };
    const last = all.at(-1)!.blockNumber;
    const whole = all.filter(({ blockNumber }) => blockNumber < last);
    return whole.length === 0
      ? this.read(vault, { seq, blockHash: '' }, 2 * most)
      : { rows: whole, isLast: false };
  }

  /** What the logs of these rows become by the rules of this version, after those before. */
  private async remake(rows: Row[]): Promise<Wrong> {
    const stored = new Map(rows.map((row) => [keyOf(row), row]));
    const seconds = rows.filter(isSecond);
    const logs = rows
      .filter((row) => !isSecond(row))
      .map((row) => logOf(row, stored.get(keyOf({ ...row, logIndex: row.logIndex + MAX_LOGS }))));
    const lonely = seconds.find((row) => !stored.has(keyOf({ ...row, logIndex: row.logIndex - MAX_LOGS })));
    if (lonely) throw new NoLog(`event ${keyOf(lonely)} is of no log`);
    const made = (await asMovements(this.reader, logs)) as Row[];
    const wanted = new Set(made.map(keyOf));
    return new Wrong(
      made.filter((row) => stored.has(keyOf(row)) && isOther(row, stored.get(keyOf(row))!)),
      made.filter((row) => !stored.has(keyOf(row))),
      rows.filter((row) => !wanted.has(keyOf(row))),
    );
  }

  private async write({ changed, missing, surplus, count }: Wrong): Promise<void> {
    if (changed.length > 0) await this.client.query(CHANGE, valuesOf(changed));
    if (missing.length > 0) await this.client.query(ADD, valuesOf(missing));
    if (surplus.length > 0) await this.client.query(REMOVE, valuesOf(surplus).slice(0, 3));
    this.rows += count;
  }

  private async writeHoldings(vault: string, schema: string): Promise<void> {
    for (let after = ''; ;) {
      const { rows } = await this.reader.query<Record<'account' | 'shares' | 'cost', string>>(
        wrongHoldings(schema),
        [vault, after, HOLDINGS_AT_ONCE],
      );
      if (rows.length === 0) return;
      await this.client.query(SAVE, [rows.map(() => vault), ...columnsOf(rows, 'account', 'shares', 'cost')]);
      this.holdings += rows.length;
      after = rows.at(-1)!.account;
    }
  }
}

class Wrong {
  constructor(
    readonly changed: Row[],
    readonly missing: Row[],
    readonly surplus: Row[],
  ) {}

  get count(): number {
    return this.changed.length + this.missing.length + this.surplus.length;
  }
}

const valuesOf = (rows: Row[]): unknown[][] =>
  columnsOf(rows, 'blockNumber', 'logIndex', 'blockHash', 'kind', 'account', 'poolName', 'amount', 'shares');

const isOther = (row: Row, stored: Row): boolean =>
  (['kind', 'account', 'poolName', 'amount', 'shares'] as const).some((name) => row[name] !== stored[name]);

/** The event of a vault that has become these rows. @throws NoLog */
function logOf(first: Row, second: Row | undefined): ChainEvent {
  const of = (account: string, event: Partial<ChainEvent>): ChainEvent => ({
    ...first,
    ...event,
    poolName: account,
    poolId: standIn(first.contract, account),
  });
  if (isShareKind(first.kind) && !second) return first;
  if (first.kind === 'Deposited' && !second) return of(first.account, { kind: 'SharesBought' });
  if (first.kind === 'Deposited' && second?.kind === 'Withdrawn')
    return of(second.account, { kind: 'SharesMoved', amount: null });
  if (first.kind === 'Withdrawn' && second?.kind === 'YieldClaimed')
    return of(first.account, {
      kind: 'SharesSold',
      amount: `${BigInt(first.amount!) + BigInt(second.amount!)}`,
    });
  throw new NoLog(`event ${keyOf(first)} is of no log`);
}

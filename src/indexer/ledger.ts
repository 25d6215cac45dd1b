import type { Client } from 'pg';
import { ChainEvent, transactionId } from './decode';
import * as sql from './ledger.sql';
import { Batch, Block, WINDOW } from './source';

export interface Cursor extends Block {
  epoch: number;
}

/** What a batch did, for metrics and log. */
export interface Applied {
  cursor: Cursor;
  anomalies: Map<string, number>;
  expired: number;
}

/** The cursor is not where this process left it: another one leads. */
export class LeadershipLost extends Error {}

export interface LedgerRules {
  confirmations: number;
  /** Seconds. */
  pendingTtl: number;
}

/**
 * Writes what the chain says, one database transaction a batch: readers never see half of it. The cursor moves by
 * compare-and-set in the same transaction, so two writers could not apply anything twice even if both thought that
 * they lead.
 */
export class Ledger {
  constructor(
    private readonly client: Client,
    private readonly rules: LedgerRules,
  ) {}

  async prepare(): Promise<void> {
    await this.client.query(sql.CREATE_BATCH);
  }

  /** The last event number of each contract. */
  async lastSeqs(contracts: string[]): Promise<Map<string, number>> {
    const { rows } = await this.client.query<{ contract: string; seq: string | null }>(
      `SELECT contract, (SELECT max(seq) FROM chain_events e WHERE e.contract = c.contract) AS seq
       FROM unnest($1::text[]) AS c(contract)`,
      [contracts],
    );
    return new Map(rows.flatMap(({ contract, seq }) => (seq === null ? [] : [[contract, Number(seq)]])));
  }

  /** The block of a contract's last event that is kept. */
  async lastEventBlock(contract: string): Promise<number | undefined> {
    const { rows } = await this.client.query<{ block_number: string }>(
      'SELECT block_number FROM chain_events WHERE contract = $1 ORDER BY seq DESC LIMIT 1',
      [contract],
    );
    return rows[0] && Number(rows[0].block_number);
  }

  /** Blocks of the window, newest first. */
  async window(): Promise<Block[]> {
    const { rows } = await this.client.query<{ number: string; hash: string; parent_hash: string; time: string }>(
      'SELECT number, hash, parent_hash, extract(epoch FROM time)::bigint AS time FROM chain_blocks ORDER BY number DESC',
    );
    return rows.map((row) => ({
      number: Number(row.number),
      hash: row.hash,
      parentHash: row.parent_hash,
      time: Number(row.time),
    }));
  }

  async apply(cursor: Cursor, { to, blocks, events }: Batch, head: number): Promise<Applied> {
    return this.transaction(async () => {
      const effective = to.number - this.rules.confirmations;
      if (events.length > 0) await this.client.query({ name: 'load_fresh', text: sql.LOAD_FRESH, values: columns(events) });
      const kept = this.rules.confirmations > 0 && events.length > 0;
      if (kept) await this.client.query(sql.KEEP_UNCONFIRMED, [effective]);
      const loaded = await this.client.query(sql.LOAD_KEPT, [effective]);
      const anomalies = new Map<string, number>();
      if (events.length > 0 || loaded.rowCount) await this.applyBatch(anomalies);
      const expired = await this.client.query<{ count: number }>(sql.EXPIRE_DEPOSITS, [
        to.time,
        this.rules.pendingTtl,
      ]);
      await this.client.query(sql.KEEP_BLOCKS, [...blockColumns(blocks), to.number - WINDOW]);
      const next = await this.move(cursor, to, effective, head);
      return { cursor: next, anomalies, expired: expired.rows[0]!.count };
    });
  }

  private async applyBatch(anomalies: Map<string, number>): Promise<void> {
    await this.client.query(sql.CLASSIFY);
    const { rows } = await this.client.query<{ kind: string }>('SELECT DISTINCT kind FROM batch');
    const kinds = new Set(rows.map(({ kind }) => kind));
    if (kinds.has('Deposited')) {
      const matched = await this.client.query(sql.MATCH_DEPOSITS);
      if (matched.rowCount) {
        const { rows: differing } = await this.client.query<{ count: number }>(sql.CONFIRM_DEPOSITS);
        if (differing[0]?.count) anomalies.set('amount', differing[0].count);
      }
    }
    if (kinds.has('Deposited') || kinds.has('YieldClaimed'))
      await this.client.query(sql.INSERT_DEPOSITS_AND_CLAIMS);
    if (kinds.has('Withdrawn')) {
      await this.client.query(sql.FIND_OVERDRAWS);
      await this.client.query(sql.INSERT_WITHDRAWALS);
    }
    if (kinds.has('YieldAccrued')) await this.client.query(sql.INSERT_ACCRUALS);
    await this.client.query(sql.KEEP_FRESH);
    await this.client.query(sql.UPDATE_KEPT);
    const draws = await this.client.query<{ draw_id: string }>(sql.BATCH_DRAWS);
    await this.makeDraws(draws.rows.map((row) => row.draw_id));
    const found = await this.client.query<{ kind: string; count: number }>(sql.COUNT_ANOMALIES);
    for (const { kind, count } of found.rows) anomalies.set(kind, count);
  }

  private async makeDraws(ids: string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.client.query(sql.DELETE_DRAWS, [ids]);
    await this.client.query(sql.MAKE_DRAWS, [ids]);
  }

  /** Takes everything after `ancestor` back, exactly; events are read again from there. */
  async rewind(cursor: Cursor, ancestor: Block, head: number): Promise<{ cursor: Cursor; undone: number }> {
    return this.transaction(async () => {
      const after = [ancestor.number];
      const draws = await this.client.query<{ draw_id: string }>(sql.UNDO.draws, after);
      await this.client.query(sql.UNDO.born, after);
      await this.client.query(sql.UNDO.matched, after);
      await this.client.query(sql.UNDO.accruals, after);
      const undone = await this.client.query(sql.UNDO.events, after);
      await this.makeDraws(draws.rows.map((row) => row.draw_id));
      await this.client.query(sql.UNDO.blocks, after);
      const next = await this.move(cursor, ancestor, ancestor.number - this.rules.confirmations, head);
      return { cursor: next, undone: undone.rowCount ?? 0 };
    });
  }

  private async move(cursor: Cursor, to: Block, applied: number, head: number): Promise<Cursor> {
    const state = head - to.number <= SYNCED_WITHIN ? 'synced' : 'syncing';
    const values = [to.number, to.hash, to.time, applied, head, state, cursor.hash, cursor.epoch];
    const moved = await this.client.query(sql.MOVE_CURSOR, values);
    if (moved.rowCount !== 1) throw new LeadershipLost('the cursor was moved by another process');
    return { ...to, epoch: cursor.epoch };
  }

  private async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.client.query('BEGIN');
    try {
      const result = await work();
      await this.client.query('COMMIT');
      return result;
    } catch (error) {
      await this.client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }
}

/** Blocks behind the head that still count as synced. */
export const SYNCED_WITHIN = 5;

/**
 * Array literals for unnest. The values are digits, hex and our own words, so nothing needs quoting, which makes
 * this several times as fast as the driver's conversion.
 */
function columns(events: ChainEvent[]): string[] {
  const array = (value: (event: ChainEvent) => string | number | null): string =>
    `{${events.map((event) => value(event) ?? 'NULL').join(',')}}`;
  return [
    array((e) => e.blockNumber),
    array((e) => e.logIndex),
    array((e) => e.blockHash),
    array((e) => e.time),
    array((e) => e.txHash),
    array((e) => e.contract),
    array((e) => e.seq),
    array((e) => e.kind),
    array((e) => e.poolId),
    array((e) => e.ref),
    array((e) => e.drawId),
    array((e) => e.account),
    array((e) => e.amount),
    array((e) => e.aprBps),
    array((e) => e.drawTime),
    array(transactionId),
  ];
}

const blockColumns = (blocks: Block[]): unknown[] => [
  blocks.map((block) => block.number),
  blocks.map((block) => block.hash),
  blocks.map((block) => block.parentHash),
  blocks.map((block) => block.time),
];

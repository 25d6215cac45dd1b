import type { Client } from 'pg';
import type { ChainEvent } from './decode';
import * as sql from './ledger.sql';
import type { Block } from './raw-chain';
import { type Batch, WINDOW } from './source';

export interface Cursor extends Block {
  epoch: number;
}

type Applicable = Pick<Batch, 'to' | 'blocks' | 'events'>;

/** Number and block of a contract's event. */
export interface LastEvent {
  seq: number;
  block: number;
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
  /** Address. */
  lottery: string;
}

export type CursorState = 'synced' | 'syncing' | 'disconnected' | 'halted';

/** Events that cost little however they are joined. */
const SMALL = 100;

/** How the cursor stands to the chain, as written beside it. */
export interface Standing {
  state: CursorState;
  /** Number of the best head known. */
  head: number;
  /** Whether the batch proves that no event is missing up to its end. */
  proven?: boolean;
  /** Whether the cursor moves, or is confirmed to be at the head. */
  progressed?: boolean;
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

  /** Of each contract that has events the last one. */
  async lastEvents(contracts: string[]): Promise<Map<string, LastEvent>> {
    const { rows } = await this.client.query<Record<'contract' | 'seq' | 'block', string>>(
      `SELECT contract, e.seq, e.block_number AS block FROM unnest($1::text[]) AS c(contract) CROSS JOIN LATERAL (
         SELECT seq, block_number FROM chain_events e WHERE e.contract = c.contract ORDER BY seq DESC LIMIT 1) e`,
      [contracts],
    );
    return new Map(
      rows.map(({ contract, seq, block }) => [contract, { seq: Number(seq), block: Number(block) }]),
    );
  }

  /** The last block with an event, up to `number`. */
  async eventBlock(number: number): Promise<Pick<Block, 'number' | 'hash'> | undefined> {
    const { rows } = await this.client.query<{ number: string; hash: string }>(
      `SELECT block_number AS number, block_hash AS hash FROM chain_events WHERE block_number <= $1
       ORDER BY block_number DESC LIMIT 1`,
      [number],
    );
    return rows[0] && { number: Number(rows[0].number), hash: rows[0].hash };
  }

  /** Blocks of the window, newest first, and last block 0. */
  async window(): Promise<Block[]> {
    const { rows } = await this.client.query<{
      number: string;
      hash: string;
      parent_hash: string;
      time: string;
    }>(
      'SELECT number, hash, parent_hash, extract(epoch FROM time)::bigint AS time FROM chain_blocks ORDER BY number DESC',
    );
    return rows.map((row) => ({
      number: Number(row.number),
      hash: row.hash,
      parentHash: row.parent_hash,
      time: Number(row.time),
    }));
  }

  async apply(cursor: Cursor, { to, blocks, events }: Applicable, standing: Standing): Promise<Applied> {
    return this.transaction(async () => {
      const moved = await this.move(cursor, to, standing);
      const anomalies = await this.applyEvents(events, to.number - this.rules.confirmations);
      const { rowCount } = await this.client.query(sql.EXPIRE_DEPOSITS, [to.time, this.rules.pendingTtl]);
      if (blocks.length > 0) await this.keepBlocks(blocks);
      return { cursor: moved, anomalies, expired: rowCount ?? 0 };
    });
  }

  /** Events above block `effective` are only kept until they get their confirmations. */
  private async applyEvents(events: ChainEvent[], effective: number): Promise<Map<string, number>> {
    const anomalies = new Map<string, number>();
    const rules = [effective, this.rules.lottery];
    const fresh = { name: 'load_fresh', text: sql.LOAD_FRESH, values: [...rules, ...sql.arrays(events)] };
    if (events.length > 0) await this.client.query(fresh);
    // In this order: a pool that one of these statements sees, the next one sees too.
    const confirmed = await this.client.query(sql.LOAD_CONFIRMED, rules);
    const due = events.length + confirmed.rowCount!;
    const appeared = await this.client.query(due > 0 ? sql.LOAD_APPEARED : sql.LOAD_ALL_APPEARED, rules);
    const size = due + appeared.rowCount!;
    if (size === 0) return anomalies;
    if (size > SMALL) await this.client.query(sql.COUNT_BATCH);

    const { rows } = await this.client.query<{ kind: string }>('SELECT DISTINCT kind FROM batch');
    const kinds = new Set(rows.map(({ kind }) => kind));
    if (kinds.has('Withdrawn')) while ((await this.client.query(sql.FIND_OVERDRAWS)).rowCount);
    if (kinds.has('Deposited') && (await this.client.query(sql.MATCH_DEPOSITS)).rowCount) {
      const differing = await this.client.query<{ count: number }>(sql.CONFIRM_DEPOSITS);
      if (differing.rows[0].count > 0) anomalies.set('amount', differing.rows[0].count);
    }
    await this.client.query(sql.INSERT_TRANSACTIONS);
    if (kinds.has('YieldAccrued')) await this.client.query(sql.INSERT_ACCRUALS);
    await this.client.query(sql.KEEP_FRESH);
    await this.client.query(sql.UPDATE_KEPT);
    const draws = await this.client.query<{ draw_id: string }>(sql.BATCH_DRAWS);
    await this.makeDraws(draws.rows.map((row) => row.draw_id));
    const found = await this.client.query<{ kind: string; count: number }>(sql.COUNT_ANOMALIES);
    for (const { kind, count } of found.rows) anomalies.set(kind, count);
    return anomalies;
  }

  private async makeDraws(ids: string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.client.query(sql.DELETE_DRAWS, [ids]);
    await this.client.query(sql.MAKE_DRAWS, [ids]);
  }

  /** Takes everything after `ancestor` back, exactly; events are read again from there. */
  async rewind(cursor: Cursor, ancestor: Block): Promise<{ cursor: Cursor; undone: number }> {
    return this.transaction(async () => {
      const moved = await this.move(cursor, ancestor, { state: 'syncing', head: cursor.number });
      const after = [ancestor.number];
      await this.client.query(sql.UNDO.born, after);
      await this.client.query(sql.UNDO.matched, after);
      await this.client.query(sql.UNDO.accruals, after);
      const { rows } = await this.client.query<{ draw_id: string | null }>(sql.UNDO.events, after);
      await this.makeDraws([...new Set(rows.flatMap(({ draw_id: id }) => id ?? []))]);
      await this.client.query(sql.UNDO.blocks, after);
      await this.keepBlocks([ancestor]);
      return { cursor: moved, undone: rows.length };
    });
  }

  /** Up to which block the contracts' counts proved that no event is missing. */
  async provenBlock(): Promise<number> {
    const { rows } = await this.client.query<{ proven: string }>(
      'SELECT proven_number AS proven FROM chain_cursor',
    );
    return Number(rows[0]?.proven ?? 0);
  }

  /** Which chain the database holds, and the best head known of it; undefined while it holds none. */
  async knownChain(): Promise<{ chainId: number; genesis: string; head: number } | undefined> {
    const { rows } = await this.client.query<Record<'id' | 'genesis' | 'head', string>>(
      'SELECT chain_id AS id, genesis_hash AS genesis, head_number AS head FROM chain_cursor',
    );
    return rows.map(({ id, genesis, head }) => ({ chainId: Number(id), genesis, head: Number(head) }))[0];
  }

  /** Adds blocks below the cursor, unless another process leads by now. */
  async fillWindow(cursor: Cursor, blocks: Block[]): Promise<void> {
    await this.transaction(async () => {
      const text = 'SELECT FROM chain_cursor WHERE block_hash = $1 AND epoch = $2 FOR UPDATE';
      const { rowCount } = await this.client.query(text, [cursor.hash, cursor.epoch]);
      if (rowCount !== 1) throw new LeadershipLost('the cursor was moved by another process');
      await this.keepBlocks(blocks);
    });
  }

  async keepBlocks(blocks: Block[]): Promise<void> {
    await this.client.query(sql.KEEP_BLOCKS, [
      blocks.map((block) => block.number),
      blocks.map((block) => block.hash),
      blocks.map((block) => block.parentHash),
      blocks.map((block) => block.time),
    ]);
    await this.client.query(sql.DROP_BLOCKS, [blocks.at(-1)!.number - WINDOW]);
  }

  /** A sign of life while there is nothing to apply; without a cursor, of one who has yet to take it over. */
  async beat(state: string, cursor?: Cursor): Promise<void> {
    const text = `UPDATE chain_cursor SET state = $1, beat_at = now() WHERE epoch = coalesce($2, epoch)`;
    const { rowCount } = await this.client.query(text, [state, cursor?.epoch ?? null]);
    if (cursor && rowCount !== 1) throw new LeadershipLost('another process leads');
  }

  /** First in a transaction: of two writers one waits here for the other, and then finds the cursor gone. */
  private async move(cursor: Cursor, to: Block, standing: Standing): Promise<Cursor> {
    const { number, hash, time } = to;
    const { state, head, proven = false, progressed = true } = standing;
    const effective = number - this.rules.confirmations;
    const values = [
      number,
      hash,
      time,
      effective,
      head,
      state,
      cursor.hash,
      cursor.epoch,
      proven,
      progressed,
    ];
    const { rowCount } = await this.client.query(sql.MOVE_CURSOR, values);
    if (rowCount !== 1) throw new LeadershipLost('the cursor was moved by another process');
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

import type { Client } from 'pg';
import type { Confirmations } from '#settings/indexer.settings';
import { keptFrom } from '#indexer/reading/finality';
import { KeptBlocks } from './kept-blocks';
import { circlesOf, makeCircles } from './circles';
import { type Block, MAX_LOGS } from '#indexer/reading/raw-chain';
import { type BlockBatch, WINDOW_BLOCKS } from '#indexer/reading/block-batch';
import { type ChainCursor, LeadershipLost, type Standing, effectiveOf, reach } from './chain-cursor';
import { type Undone, drawsOf, rebuildDraws } from './draws';
import { EventApplier } from './event-applier';
import * as sql from './event-writer.sql';
import { rebuildPositions, undoPositions } from './position-writer';
import { Tally } from './set-aside';
import { transaction } from './transaction';

type Applicable = Pick<BlockBatch, 'to' | 'blocks' | 'events'>;

/** Sequence number and block of a contract's event. */
export interface LastEvent {
  seq: number;
  block: number;
}

/** What a batch did, for metrics and logs. */
export interface Applied {
  cursor: ChainCursor;
  anomalies: Map<string, number>;
  expired: number;
  /** The number of all events stored without effect, by outcome. */
  setAside: Map<string, number>;
}

interface WriterRules {
  confirmations: Confirmations;
  /** Seconds. */
  pendingTtl: number;
  /** Addresses of the contracts that hold draws. */
  lotteries: ReadonlySet<string>;
}

/**
 * Writes what the chain says, in one database transaction per batch, so readers never see half a batch. The same
 * transaction moves the cursor by compare-and-set, so two writers cannot apply anything twice even if both believe that
 * they lead.
 */
export class EventWriter {
  readonly blocks: KeptBlocks;
  private readonly applier: EventApplier;

  constructor(
    private readonly client: Client,
    private readonly rules: WriterRules,
  ) {
    this.blocks = new KeptBlocks(client);
    this.applier = new EventApplier(client, rules.lotteries);
  }

  /** The last event of each contract with events, without second rows of vault logs, which sort after later logs. */
  async lastEvents(contracts: string[]): Promise<Map<string, LastEvent>> {
    const { rows } = await this.client.query<Record<'contract' | 'seq' | 'block', string>>(
      `SELECT contract, e.seq, e.block_number AS block FROM unnest($1::text[]) AS c(contract) CROSS JOIN LATERAL (
         SELECT seq, block_number FROM chain_events e
         WHERE e.contract = c.contract AND e.log_index < ${MAX_LOGS} ORDER BY seq DESC LIMIT 1) e`,
      [contracts],
    );
    return new Map(
      rows.map(({ contract, seq, block }) => [contract, { seq: Number(seq), block: Number(block) }]),
    );
  }

  /** The last block up to `number` that has an event. */
  async eventBlock(number: number): Promise<Pick<Block, 'number' | 'hash'> | undefined> {
    const { rows } = await this.client.query<{ number: string; hash: string }>(
      `SELECT block_number AS number, block_hash AS hash FROM chain_events WHERE block_number <= $1
       ORDER BY block_number DESC LIMIT 1`,
      [number],
    );
    return rows[0] && { number: Number(rows[0].number), hash: rows[0].hash };
  }

  async apply(cursor: ChainCursor, { to, blocks, events }: Applicable, standing: Standing): Promise<Applied> {
    return transaction(this.client, async () => {
      const batch = { to, blocks };
      const reached = await reach(this.client, this.blocks, { cursor, batch, standing, ...this.rules });
      const { applied, finalized } = reached;
      const moved = await this.move(cursor, { ...to, epoch: cursor.epoch, ...reached }, standing);
      const { anomalies } = await this.take(events, moved, standing.head);
      if (blocks.length > 0) {
        await this.blocks.keep(blocks);
        await this.blocks.drop(keptFrom(to.number, finalized), applied);
      }
      const proven = [...(standing.byReceipts ?? [])];
      if (proven.length > 0) await this.client.query(sql.KEEP_PROOF, [proven, cursor.number + 1, to.number]);
      const expired = await this.expire(applied);
      return { cursor: moved, anomalies, expired, setAside: await this.setAside() };
    });
  }

  /** Stores and applies events, in a transaction, for a ledger that ends with the cursor. */
  async take(events: BlockBatch['events'], cursor: ChainCursor, head: number): Promise<Tally> {
    const { confirmations } = this.rules;
    const effective = cursor.applied;
    const journalAbove =
      typeof confirmations === 'number'
        ? Math.max(head, cursor.number) - confirmations - WINDOW_BLOCKS
        : // What takes effect by its tag is undone only if it is not final.
          Math.max(effective - WINDOW_BLOCKS, cursor.finalized ?? 0);
    return this.applier.apply(events, { effective, journalAbove });
  }

  /** Uses the time of the last block in effect. While its header is unknown, as in backfill, nothing changes. */
  private async expire(effective: number): Promise<number> {
    const { rows } = await this.client.query<{ time: string }>(sql.BLOCK_TIME, [effective]);
    if (!rows[0]) return 0;
    const end = [Number(rows[0].time) - this.rules.pendingTtl];
    await this.client.query(sql.REVIVE_DEPOSITS, end);
    return (await this.client.query(sql.EXPIRE_DEPOSITS, end)).rowCount ?? 0;
  }

  /** The number of events stored without effect, by outcome in lower case. */
  async setAside(): Promise<Map<string, number>> {
    const { rows } = await this.client.query<{ outcome: string; count: string }>(
      'SELECT lower(outcome) AS outcome, count FROM set_aside_counts',
    );
    return new Map(rows.map(({ outcome, count }) => [outcome, Number(count)]));
  }

  /**
   * Undoes everything after `ancestor` exactly; events are read again from there. Earlier events that no longer have
   * enough confirmations wait for them again, so the state is that of a chain that ends here.
   */
  async rewind(cursor: ChainCursor, ancestor: Block): Promise<{ cursor: ChainCursor; undone: number }> {
    return transaction(this.client, async () => {
      const { number } = ancestor;
      const effective = effectiveOf({ ...cursor, number }, this.rules.confirmations);
      const finalized = cursor.finalized === undefined ? undefined : Math.min(cursor.finalized, number);
      const back = { ...ancestor, epoch: cursor.epoch, applied: effective, finalized };
      const moved = await this.move(cursor, back, { state: 'syncing', head: cursor.number });
      const undone = await this.undo(ancestor.number, effective);
      await this.client.query(sql.UNDO.blocks, [ancestor.number]);
      await this.client.query(sql.UNDO.apart, [ancestor.number, ancestor.hash, ancestor.time]);
      await this.blocks.keep([ancestor]);
      await this.expire(effective);
      return { cursor: moved, undone };
    });
  }

  /**
   * Takes back the effect of the blocks after `effective`, and the events after `number`, in a transaction.
   * @param contract whose events alone; null: all
   * @returns the number of events that are gone
   */
  async undo(number: number, effective: number, contract: string | null = null): Promise<number> {
    const lost = await undoPositions(this.client, effective, contract);
    for (const statement of [sql.UNDO.createdRows, sql.UNDO.matched, sql.UNDO.accruals])
      await this.client.query(statement, [effective, contract]);
    for (const statement of [sql.UNDO.proofs, sql.UNDO.prices, sql.UNDO.shares])
      await this.client.query(statement, [number, contract]);
    await this.client.query(sql.UNDO.names, [effective, contract]);
    const gone = await this.client.query<Undone>(sql.UNDO.events, [number, contract]);
    const waiting = await this.client.query<Undone>(sql.UNDO.confirmations, [effective, contract]);
    const undone = [...gone.rows, ...waiting.rows];
    const tally = new Tally();
    for (const { outcome, count } of undone) tally.change(outcome, -count);
    await tally.keep(this.client);
    const accounts = undone.map(({ account }) => account);
    await rebuildDraws(this.client, drawsOf(undone), accounts);
    await makeCircles(this.client, circlesOf(undone.filter(({ outcome }) => outcome === 'APPLIED')));
    await rebuildPositions(this.client, lost);
    return gone.rows.reduce((sum, { count }) => sum + count, 0);
  }

  /** The last block up to which the contracts' counts prove that no event is missing. */
  async provenBlock(): Promise<number> {
    const { rows } = await this.client.query<{ proven: string }>(
      'SELECT proven_number AS proven FROM chain_cursor',
    );
    return Number(rows[0]?.proven ?? 0);
  }

  /** The chain that the database holds and its best known head; undefined while it holds none. */
  async knownChain(): Promise<{ chainId: number; genesis: string; head: number } | undefined> {
    const { rows } = await this.client.query<Record<'id' | 'genesis' | 'head', string>>(
      'SELECT chain_id AS id, genesis_hash AS genesis, head_number AS head FROM chain_cursor',
    );
    return rows.map(({ id, genesis, head }) => ({ chainId: Number(id), genesis, head: Number(head) }))[0];
  }

  /** Adds blocks below the cursor, unless another process leads now. */
  async fillWindow(cursor: ChainCursor, blocks: Block[]): Promise<void> {
    await this.holding(cursor, () => this.blocks.keep(blocks));
  }

  /** One transaction, in which the cursor stays where it is. @throws LeadershipLost when it is elsewhere */
  async holding<T>(cursor: ChainCursor, work: () => Promise<T>): Promise<T> {
    return transaction(this.client, async () => {
      const text = 'SELECT FROM chain_cursor WHERE block_hash = $1 AND epoch = $2 FOR UPDATE';
      const { rowCount } = await this.client.query(text, [cursor.hash, cursor.epoch]);
      if (rowCount !== 1) throw new LeadershipLost('the cursor was moved by another process');
      return work();
    });
  }

  /**
   * Heartbeat while there is nothing to apply. Without a cursor: from a process that has not taken the cursor over yet.
   */
  async beat(state: string, cursor?: ChainCursor): Promise<void> {
    const text = `UPDATE chain_cursor SET state = $1, beat_at = now() WHERE epoch = coalesce($2, epoch)`;
    const { rowCount } = await this.client.query(text, [state, cursor?.epoch ?? null]);
    if (cursor && rowCount !== 1) throw new LeadershipLost('another process leads');
  }

  /** Must come first in a transaction: a second writer waits here, then finds that the cursor has moved. */
  private async move(cursor: ChainCursor, to: ChainCursor, standing: Standing): Promise<ChainCursor> {
    const { number, hash, time, applied, finalized = null } = to;
    const { state, head, proven = false, progressed = true } = standing;
    const values = [
      number,
      hash,
      time,
      applied,
      head,
      state,
      cursor.hash,
      cursor.epoch,
      proven,
      progressed,
      finalized,
    ];
    const { rowCount } = await this.client.query(sql.MOVE_CURSOR, values);
    if (rowCount !== 1) throw new LeadershipLost('the cursor was moved by another process');
    return to;
  }
}

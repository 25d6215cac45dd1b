import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import { rebuildDraws } from '#indexer/ledger/draws';
import * as draws from '#indexer/ledger/draws.sql';
import type { PoolState, Rules } from '#indexer/ledger/decide';
import { updateKept } from '#indexer/ledger/event-rows';
import { refusal } from '#indexer/ledger/set-aside';
import { correct, schemaOf } from './correction';
import { type Replayed, decideAgain, readLotteries, storedItem } from './event-reader';
import { EVENTS_OF_NONE } from './events.sql';
import * as sql from './draws.sql';

/** Events of draws that are decided, and written if they are wrong, at a time. */
const EVENTS_AT_ONCE = 10_000;
/** Draws that are rebuilt at a time, beside what is stored of them. */
const DRAWS_AT_ONCE = 50;

const NO_POOLS = new Map<string, PoolState>();
interface DrawKey {
  contract: string;
  drawId: string;
}
type Place = [block: number, log: number];
interface Piece {
  count: number;
  last?: Place;
  changed: Replayed[];
}

/** Rebuilds draws from their events, beside what is stored, and writes those that differ. */
export class DrawCorrection {
  /** Events without a pool, those of them whose outcome was wrong, and draws that were rebuilt. */
  events = 0;
  outcomes = 0;
  corrected = 0;
  /** Draws that stay as they were, and why. */
  readonly refused: string[] = [];

  /** @param reader for temporary tables, which have the names of the real ones */
  constructor(
    private readonly client: Client,
    private readonly reader: Client,
    private lotteries: ReadonlySet<string>,
  ) {}

  /** Outcomes of the events that name no pool. Each depends on nothing but the event. */
  async decide(effective: number, signal: AbortSignal): Promise<void> {
    for (let place: Place | undefined = [-1, -1]; place;) {
      signal.throwIfAborted();
      const from: Place = place;
      let piece = await this.read(from, effective);
      if (piece.changed.length > 0) piece = await this.readAnew(from, effective);
      if (piece.changed.some(({ before }) => before !== 'FAILED'))
        this.outcomes += await correct(this.client, async (now) => {
          const { changed } = await this.readAnew(from, now);
          const wrong = changed.filter(({ before }) => before !== 'FAILED');
          await updateKept(this.client, wrong);
          return wrong.length;
        });
      for (const failed of piece.changed.filter(({ before }) => before === 'FAILED'))
        await this.tryFailed(failed);
      this.events += piece.count;
      place = piece.last;
    }
  }

  /** The database may take now what it once refused. If it does not, the event stays as it is. */
  private async tryFailed(decision: Replayed): Promise<void> {
    const { contract, drawId } = decision.event;
    await correct(this.client, async () => {
      await updateKept(this.client, [decision]);
      if (decision.outcome === 'APPLIED') await rebuildDraws(this.client, [{ contract, drawId: drawId! }]);
    }).then(
      () => (this.outcomes += 1),
      (error: Error) => {
        if (refusal(error) === undefined) throw error;
      },
    );
  }

  /** An indexer that was started meanwhile may follow another lottery, whose draws are no error. */
  private async readAnew(place: Place, effective: number): Promise<Piece> {
    this.lotteries = await readLotteries(this.client);
    return this.read(place, effective);
  }

  private async read(place: Place, effective: number): Promise<Piece> {
    const rules: Rules = { effective, lotteries: this.lotteries };
    const { rows } = await this.client.query<(string | null)[]>({
      text: EVENTS_OF_NONE,
      values: [...place, EVENTS_AT_ONCE],
      rowMode: 'array',
    });
    const decided = rows.map((row) => decideAgain(storedItem(row), NO_POOLS, rules, true));
    const last = decided.at(-1)?.event;
    return {
      count: rows.length,
      last: last && [last.blockNumber, last.logIndex],
      changed: decided.filter(({ isChanged }) => isChanged),
    };
  }

  /** Rows of draws and tickets. */
  async make(signal: AbortSignal): Promise<void> {
    const { reader } = this;
    let after: [string, string] = ['', '-1'];
    for (;;) {
      signal.throwIfAborted();
      const { rows } = await reader.query<DrawKey>(sql.NEXT_DRAWS, [...after, DRAWS_AT_ONCE]);
      const last = rows.at(-1);
      if (!last) return;
      after = [last.contract, last.drawId];
      await this.makeSome(rows);
    }
  }

  /** If the database refuses a draw, all others are made. */
  private async makeSome(some: DrawKey[]): Promise<void> {
    try {
      const wrong = await this.compare(some);
      if (wrong.length === 0) return;
      await correct(this.client, () => rebuildDraws(this.client, wrong));
      this.corrected += wrong.length;
    } catch (error) {
      const reason = refusal(error);
      if (reason === undefined) throw error;
      const [{ contract, drawId }] = some;
      if (some.length === 1) return void this.refused.push(`draw ${drawId} of ${contract}: ${reason}`);
      for (const each of some) await this.makeSome([each]);
    }
  }

  /** The indexer's own statements write into tables of the same names, which only this transaction has. */
  private async compare(some: DrawKey[]): Promise<DrawKey[]> {
    const { reader } = this;
    const keys = columnsOf(some, 'contract', 'drawId');
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    try {
      const schema = await schemaOf(reader);
      for (const statement of sql.shadows(schema)) await reader.query(statement);
      await reader.query(draws.MAKE_TICKETS, [...keys, null]);
      for (const statement of [draws.MAKE_DRAWS, draws.SET_STAGES]) await reader.query(statement, keys);
      const { rows } = await reader.query<DrawKey>(sql.wrongDraws(schema), keys);
      return rows;
    } finally {
      await reader.query('ROLLBACK');
    }
  }
}

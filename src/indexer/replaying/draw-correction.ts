import type { Client } from 'pg';
import { rebuildDraws } from '#indexer/ledger/draws';
import type { PoolState, Rules } from '#indexer/ledger/decide';
import { updateKept } from '#indexer/ledger/event-rows';
import { refusal } from '#indexer/ledger/set-aside';
import { correct } from './correction';
import { type Replayed, decideAgain, readLotteries, storedItem } from './event-reader';
import { EVENTS_OF_NONE } from './events.sql';

/** Events of draws that are decided, and written if they are wrong, at a time. */
const EVENTS_AT_ONCE = 10_000;

const NO_POOLS = new Map<string, PoolState>();
type Place = [block: number, log: number];
interface Piece {
  count: number;
  last?: Place;
  changed: Replayed[];
}

/** Corrects the outcomes of the events that name no pool, which are those of draws. Each depends on nothing but the event. */
export class DrawCorrection {
  /** Events without a pool, and those of them whose outcome was wrong. */
  events = 0;
  outcomes = 0;

  constructor(
    private readonly client: Client,
    private lotteries: ReadonlySet<string>,
  ) {}

  async run(effective: number, signal: AbortSignal): Promise<void> {
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
}

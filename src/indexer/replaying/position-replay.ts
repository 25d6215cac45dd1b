import { isDeepStrictEqual } from 'node:util';
import {
  type PoolPositions,
  type Position,
  type PositionEvent,
  type Weights,
  accountsOf,
  applyEvent,
  noWeights,
} from '#indexer/ledger/positions';
import { toJson } from '#indexer/ledger/position-rows';

/** More accounts of one pool are not held in memory: what is stored of it counts as wrong, and is rebuilt. */
const MOST_ACCOUNTS = 100_000;

/** The columns as POSITIONS, WEIGHTS and RATES join them. */
const positionText = (p: Position): string =>
  `${p.balance} ${p.offset} ${p.owed} ${p.accruals} ${p.deposited} ${p.withdrawn} ${p.claimed}`;
const weightsText = (w: Weights): string =>
  `${w.total} ${w.offset} ${w.accruals} ${w.lastTime} ${w.lastPerUnit}`;

/** The positions of one pool, replayed in memory, and compared with what is stored. */
export class PositionReplay {
  private readonly pool: PoolPositions = { weights: noWeights(), accruals: new Map(), positions: new Map() };
  private exists = false;
  private isLarge = false;
  private isDifferent = false;
  /** How many stored rows were right. */
  private readonly right = { positions: 0, weights: 0, rates: 0 };
  /** What is kept to take blocks back, by block and address. */
  private readonly former = new Map<string, string | null>();

  /** Call it before the events. A row that is not kept is not missed: its block is then taken back by replaying. */
  expect(key: string, former: string | null): void {
    this.former.set(key, former);
  }

  apply(event: PositionEvent): void {
    const { pool } = this;
    if (this.isLarge) return;
    if (this.former.size > 0) this.compareFormer(event);
    if (applyEvent(pool, event) !== 'impossible') this.exists = true;
    this.isLarge = pool.positions.size > MOST_ACCOUNTS;
  }

  /** Of each block the rows as they were before its first event. */
  private compareFormer(event: PositionEvent): void {
    const { blockNumber } = event;
    const { pool, former } = this;
    const take = (address: string, row: Weights | Position | undefined): void => {
      const key = `${blockNumber} ${address}`;
      const kept = former.get(key);
      if (kept === undefined) return;
      former.delete(key);
      // PostgreSQL keeps the names in an order of its own.
      const right = row && (JSON.parse(toJson(row)) as object);
      const stored = kept === null ? undefined : (JSON.parse(kept) as object);
      if (!isDeepStrictEqual(stored, right)) this.isDifferent = true;
    };
    take('', this.exists ? pool.weights : undefined);
    for (const account of accountsOf(event)) take(account, pool.positions.get(account));
  }

  comparePosition(address: string, text: string): void {
    const position = this.pool.positions.get(address);
    if (position && positionText(position) === text) this.right.positions += 1;
    else this.isDifferent = true;
  }

  compareWeights(text: string): void {
    if (weightsText(this.pool.weights) === text && this.exists) this.right.weights += 1;
    else this.isDifferent = true;
  }

  compareRate(number: number, text: string): void {
    const rate = this.pool.accruals.get(number);
    if (rate && `${rate.time} ${rate.perWeight} ${rate.perUnit}` === text) this.right.rates += 1;
    else this.isDifferent = true;
  }

  /** Call it last. */
  get isWrong(): boolean {
    const { positions, accruals } = this.pool;
    const { right } = this;
    return (
      this.isLarge ||
      this.isDifferent ||
      this.former.size > 0 ||
      right.positions !== positions.size ||
      right.weights !== (this.exists ? 1 : 0) ||
      right.rates !== accruals.size
    );
  }
}

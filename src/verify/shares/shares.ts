import type { Value } from '#verify/checks/connection';
import { LOCK_CURSOR } from '#verify/checks/lottery.sql';
import { CircleComparison } from '#verify/circles/circles';
import { KeyBatchSize } from '#verify/checks/walk';
import type { Walk } from '#verify/checks/walk';
import { type Part, ShareModel, type WrongPart } from './share-model';
import * as sql from './shares.sql';

/** What sorts before all vaults and accounts. */
export const FIRST_HOLDER = ' ';

interface Stored {
  vault: string;
  account: string;
  shares: string;
  cost: string;
}
type StoredPart = Omit<Part, 'shares' | 'amount'> & Record<'shares' | 'amount', string>;
interface StoredRow {
  vault: string;
  account: string;
  isSecond: boolean;
  own: StoredPart;
  other: StoredPart | null;
  trade: Record<'amount' | 'shares', string> | null;
}

interface Compared {
  events: number;
  wrong: WrongPart[];
  /** Holdings that differ, by whether what they follow from is in doubt. */
  clear: Value[];
  doubtful: Value[];
}

const partOf = (part: StoredPart): Part => ({
  ...part,
  shares: BigInt(part.shares ?? 0),
  amount: BigInt(part.amount),
});
const parameters = (keys: string[]): string[][] => [0, 1].map((i) => keys.map((key) => key.split(' ')[i]));

/** Compares what is derived, what accounts have of vaults too. */
export class ShareComparison extends CircleComparison {
  /** @param advance gets the number of accounts */
  async everyHolding(walk: Walk, advance: (accounts: number) => void): Promise<void> {
    await walk.everyKey(
      new KeyBatchSize(),
      (after, limit) => walk.keys(sql.NEXT_HOLDERS, ...after.split(' '), limit),
      async (keys) => {
        await this.holdings(keys);
        advance(keys.length);
      },
      FIRST_HOLDER,
    );
  }

  /** @param keys vaults and accounts, a blank between the two */
  async holdings(keys: string[]): Promise<void> {
    const { events, wrong, clear, doubtful } = await this.compared(keys);
    this.findings.count('holdings of vaults', keys.length);
    this.findings.count('events of shares', events);
    // The events are never mended: `replay` makes the parts of a payout anew.
    for (const { id, column, kept, recount, pools } of wrong) {
      this.findings.dispute(pools);
      this.findings.add({ kind: `chain_events.${column}`, id, found: kept, wanted: recount, mended: false });
    }
    await this.report('share_holdings', clear, () => this.rebuild(clear.map(({ id }) => id)));
    await this.report('share_holdings', doubtful);
  }

  /** What all have of each vault. It is counted by one statement. */
  async shareTotals(): Promise<void> {
    await this.report('share_totals', await this.rows<Value>(sql.COMPARE_TOTALS), async () => {
      await this.client.query(LOCK_CURSOR);
      for (const statement of sql.REPAIR_TOTALS) await this.client.query(statement);
    });
  }

  /** Of one snapshot. */
  private async compared(keys: string[]): Promise<Compared> {
    await this.client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    try {
      const stored = await this.rows<Stored>(sql.STORED, ...parameters(keys));
      const { models, wrong, events } = await this.replayed(keys);
      const kept = new Map(stored.map((row) => [`${row.vault} ${row.account}`, row]));
      const [clear, doubtful]: Value[][] = [[], []];
      for (const id of keys) {
        const model = models.get(id) ?? new ShareModel();
        const isDoubtful =
          model.isDoubtful || [...model.pools].some((pool) => this.findings.isDisputed(pool));
        (isDoubtful ? doubtful : clear).push(...differences(id, kept.get(id), model));
      }
      return { events, wrong, clear, doubtful };
    } finally {
      await this.client.query('ROLLBACK');
    }
  }

  /** The rows of accounts, some thousand at a time. */
  private async replayed(
    keys: string[],
  ): Promise<{ models: Map<string, ShareModel>; wrong: WrongPart[]; events: number }> {
    const models = new Map<string, ShareModel>();
    const wrong: WrongPart[] = [];
    let events = 0;
    await this.client.query(sql.OPEN_ROWS, parameters(keys));
    for (;;) {
      const rows = await this.rows<StoredRow>(sql.NEXT_ROWS);
      if (rows.length === 0) break;
      events += rows.length;
      for (const { vault, account, isSecond, own, other, trade } of rows) {
        const key = `${vault} ${account}`;
        let model = models.get(key);
        if (!model) models.set(key, (model = new ShareModel()));
        wrong.push(
          ...model.apply({
            isSecond,
            own: partOf(own),
            other: other ? partOf(other) : undefined,
            trade: trade ? { amount: BigInt(trade.amount), shares: BigInt(trade.shares) } : undefined,
          }),
        );
      }
    }
    await this.client.query(sql.CLOSE_ROWS);
    return { models, wrong, events };
  }

  /** In a transaction; the indexer waits for its end. */
  private async rebuild(ids: string[]): Promise<void> {
    await this.client.query(LOCK_CURSOR);
    const keys = [...new Set(ids)];
    const { models } = await this.replayed(keys);
    const of = (key: string): ShareModel => models.get(key) ?? new ShareModel();
    await this.client.query(sql.CLEAR, parameters(keys));
    await this.client.query(sql.INSERT, [
      ...parameters(keys),
      keys.map((key) => `${of(key).shares}`),
      keys.map((key) => `${of(key).cost}`),
    ]);
  }
}

function differences(id: string, kept: Stored | undefined, model: ShareModel): Value[] {
  const isNone = model.shares === 0n && model.cost === 0n;
  return (['shares', 'cost'] as const).flatMap((column) => {
    const recount = isNone ? null : `${model[column]}`;
    const value = kept?.[column] ?? null;
    return value === recount ? [] : [{ id, column, kept: value, recount }];
  });
}

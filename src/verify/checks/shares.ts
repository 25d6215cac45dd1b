import { type Look, type Value, halves, unique } from './look';
import { LOCK_CURSOR } from './events.sql';
import { type Row, compareRows, writeRows } from './model-rows';
import { type Part, ShareModel, type WrongPart } from './share-model';
import * as sql from './shares.sql';

type StoredPart = Omit<Part, 'shares' | 'amount'> & Record<'shares' | 'amount', string>;
interface StoredRow {
  vault: string;
  account: string;
  isSecond: boolean;
  own: StoredPart;
  other: StoredPart | null;
  trade: Record<'amount' | 'shares', string> | null;
}

const partOf = (part: StoredPart): Part => ({
  ...part,
  shares: BigInt(part.shares ?? 0),
  amount: BigInt(part.amount),
});

/** Compares holdings with the events of their accounts, in one snapshot. @param keys vaults and accounts */
export async function compareShares(look: Look, keys: string[]): Promise<void> {
  const { findings } = look;
  const { models, wrong, events, found } = await look.reading(async () => {
    const replay = await replayed(look, keys);
    return { ...replay, found: await compareRows(look, sql.HOLDINGS, halves(keys), rowsOf(replay.models)) };
  });
  findings.count('holdings of vaults', keys.length);
  findings.count('events of shares', events);
  const isClear = ({ id }: Value): boolean => {
    const model = models.get(id);
    return !model?.isDoubtful && ![...(model?.pools ?? [])].some((pool) => findings.isDisputed(pool));
  };
  const [clear, doubtful] = [true, false].map((is) =>
    found.share_holdings.filter((each) => isClear(each) === is),
  );
  // The events are never repaired: `replay` rebuilds the parts of a payout.
  findings.doubt(
    wrong.map(({ id, column, kept, recount, pools }) => ({
      kind: `chain_events.${column}`,
      id,
      found: kept,
      wanted: recount,
      subjects: pools,
    })),
  );
  await look.report('share_holdings', clear, async () => {
    // The indexer waits for its end.
    await look.client.query(LOCK_CURSOR);
    const again = unique(clear.map(({ id }) => id));
    await writeRows(look, sql.HOLDINGS, halves(again), rowsOf((await replayed(look, again)).models));
  });
  await look.report('share_holdings', doubtful);
}

/** The rows of accounts, some thousand at a time. */
async function replayed(
  look: Look,
  keys: string[],
): Promise<{ models: Map<string, ShareModel>; wrong: WrongPart[]; events: number }> {
  const models = new Map<string, ShareModel>();
  const wrong: WrongPart[] = [];
  let events = 0;
  await look.client.query(sql.OPEN_ROWS, halves(keys));
  for (;;) {
    const rows = await look.rows<StoredRow>(sql.NEXT_ROWS);
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
  await look.client.query(sql.CLOSE_ROWS);
  return { models, wrong, events };
}

const rowsOf = (models: Map<string, ShareModel>): Record<'share_holdings', Row[]> => ({
  share_holdings: [...models].flatMap(([key, { shares, cost }]) => {
    const [vault, account] = key.split(' ');
    return shares === 0n && cost === 0n ? [] : [{ vault, account, shares: `${shares}`, cost: `${cost}` }];
  }),
});

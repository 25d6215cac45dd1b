import { LOCK_CURSOR, type Look, type Value, halves, unique } from './look';
import { type Row, compareRows, writeRows, type Model } from './model-rows';
import { type Part, ShareModel, type WrongPart, SECOND } from './share-model';

const after = (before: string, vault: string): string => `(${vault}, account) > (${before})`;
/** SQL: the holder after the one before it, of those that are stored or have events. It uses the indexes only. */
const next = (before: string): string => `
  SELECT vault, account FROM (
    (SELECT vault::text, account::text FROM share_holdings WHERE ${after(before, 'vault')}
     ORDER BY share_holdings.vault, share_holdings.account LIMIT 1)
    UNION ALL
    (SELECT contract, account FROM chain_events WHERE shares IS NOT NULL AND ${after(before, 'contract')}
     ORDER BY contract, account LIMIT 1)
  ) x ORDER BY vault COLLATE "C", account COLLATE "C" LIMIT 1`;

/** Accounts that have, or had, shares of vaults. Parameters: vault and account to go on after, limit. Row: both as a key. */
export const NEXT_HOLDERS = `
  WITH RECURSIVE holders(vault, account, n) AS (
    SELECT *, 1 FROM (${next('$1::text, $2::text')}) first
    UNION ALL
    SELECT following.*, n + 1 FROM holders h CROSS JOIN LATERAL (${next('h.vault, h.account')}) following
    WHERE n < $3::int
  )
  SELECT vault || ' ' || account AS key FROM holders ORDER BY n`;

const WANTED = 'unnest($1::text[], $2::text[]) AS w(vault, account)';
/** SQL: the place of the other row that the log of event `e` has become. */
export const OTHER_PLACE = `(e.log_index + ${SECOND}) % ${2n * SECOND}`;
const part = (row: string): string =>
  `CASE WHEN ${row}.kind IS NOT NULL THEN json_build_object('id', concat_ws(' ', ${row}.block_number, ${row}.log_index),
    'kind', ${row}.kind, 'shares', ${row}.shares::text, 'amount', coalesce(${row}.amount, 0)::text, 'pool', ${row}.pool_id) END`;

/** SQL: the amount paid by the log whose first row is `t` and whose second row, if any, is `y`. */
const PAID = 't.amount + coalesce(y.amount, 0)';
/** SQL: whether it shows the price of shares. Rounding hides it below a thousand units, or shares bought. */
const IS_TRADE = `${PAID} >= 1000 AND CASE t.kind WHEN 'Deposited' THEN y.kind IS NULL AND t.shares >= 1000
  WHEN 'Withdrawn' THEN y.kind = 'YieldClaimed' AND t.shares > 0 ELSE false END`;
const SECOND_ROW = `y.contract = t.contract AND y.seq = t.seq + ${SECOND}`;
/** SQL: whether row `e` is the second of a log by which shares were given. */
const GIVEN = `e.kind = 'Withdrawn' AND e.log_index >= ${SECOND}`;

/**
 * The rows of accounts, one account after the other, in the order of the chain. Each of its logs comes once, or twice
 * one after the other. Parameters, here and below: vaults, accounts.
 */
export const SHARE_ROWS = `
  -- The last trade up to each log, in one pass over the vaults in which any of these accounts has given shares.
  WITH traded AS MATERIALIZED (
    SELECT t.contract, t.seq, max(t.seq) FILTER (WHERE ${IS_TRADE}) OVER (PARTITION BY t.contract ORDER BY t.seq) AS trade
    FROM chain_events t LEFT JOIN chain_events y ON ${SECOND_ROW}
    WHERE t.log_index < ${SECOND} AND t.contract IN (SELECT e.contract FROM ${WANTED}
      JOIN chain_events e ON e.contract = w.vault AND e.account = w.account AND e.shares IS NOT NULL AND ${GIVEN})
  )
  SELECT e.contract AS vault, e.account, e.log_index >= ${SECOND} AS "isSecond", ${part('e')} AS own, ${part('o')} AS other,
    CASE WHEN t.seq IS NOT NULL THEN json_build_object('amount', (${PAID})::text, 'shares', t.shares::text) END AS trade
  FROM ${WANTED} JOIN chain_events e ON e.contract = w.vault AND e.account = w.account AND e.shares IS NOT NULL
  LEFT JOIN chain_events o ON o.block_number = e.block_number AND o.log_index = ${OTHER_PLACE} AND o.contract = e.contract
  LEFT JOIN traded l ON l.contract = e.contract AND l.seq = e.seq - ${SECOND} AND ${GIVEN}
  LEFT JOIN chain_events t ON t.contract = l.contract AND t.seq = l.trade
  LEFT JOIN chain_events y ON ${SECOND_ROW}
  ORDER BY e.contract, e.account, e.block_number, e.log_index % ${SECOND}, e.log_index`;

/** Parameters: vaults, accounts. */
const HOLDINGS = {
  tables: { share_holdings: { key: ['vault', 'account'], columns: ['shares', 'cost'] } },
  of: '(t.vault, t.account) IN (SELECT * FROM unnest($1::text[], $2::text[]))',
} satisfies Model<string>;

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
    return { ...replay, found: await compareRows(look, HOLDINGS, halves(keys), rowsOf(replay.models)) };
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
  // The events are never repaired: `rewind --contract` reads them again.
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
    await writeRows(look, HOLDINGS, halves(again), rowsOf((await replayed(look, again)).models));
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
  for await (const rows of look.stream<StoredRow>(SHARE_ROWS, ...halves(keys))) {
    events += rows.length;
    for (const { vault, account, isSecond, own, other, trade } of rows) {
      const key = `${vault} ${account}`;
      const model = models.get(key) ?? new ShareModel();
      models.set(key, model);
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
  return { models, wrong, events };
}

const rowsOf = (models: Map<string, ShareModel>): Record<'share_holdings', Row[]> => ({
  share_holdings: [...models].flatMap(([key, { shares, cost }]) => {
    const [vault, account] = key.split(' ');
    return shares === 0n && cost === 0n ? [] : [{ vault, account, shares: `${shares}`, cost: `${cost}` }];
  }),
});

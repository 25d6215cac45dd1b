import { type Look, wordsOf } from './look';
import { type Model, type Rows, compareModel } from './model-rows';
import type { Doubt } from './findings';
import { type Part, SECOND, ShareModel } from './share-model';

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
const HOLDINGS: Model = {
  tables: { share_holdings: ['vault', 'account'] },
  of: '(t.vault, t.account) IN (SELECT * FROM unnest($1::text[], $2::text[]))',
  by: 2,
};

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

/** Compares holdings with the events of their accounts. @param keys vaults and accounts */
export async function compareShares(look: Look, keys: string[]): Promise<void> {
  const { findings } = look;
  let models: Map<string, ShareModel> | undefined;
  const replay = async (some: string[]): Promise<Rows> => {
    const made = new Map(some.map((key) => [key, new ShareModel()]));
    const wrong: Doubt[] = [];
    for await (const rows of look.stream<StoredRow>(SHARE_ROWS, ...wordsOf(some)))
      for (const { vault, account, isSecond, own, other, trade } of rows)
        wrong.push(
          ...made.get(`${vault} ${account}`)!.apply({
            isSecond,
            own: partOf(own),
            other: other ? partOf(other) : undefined,
            trade: trade ? { amount: BigInt(trade.amount), shares: BigInt(trade.shares) } : undefined,
          }),
        );
    // The events are never repaired: `rewind --contract` reads them again.
    if (!models) findings.doubt(wrong);
    models ??= made;
    const held = [...made].filter(([, { shares, cost }]) => shares !== 0n || cost !== 0n);
    return {
      share_holdings: held.map(([key, { shares, cost }]) => {
        const [vault, account] = key.split(' ');
        return { vault, account, shares, cost };
      }),
    };
  };
  await compareModel(look, HOLDINGS, keys, replay, (key) => {
    const { isDoubtful, pools } = models!.get(key)!;
    return !isDoubtful && ![...pools].some((pool) => findings.isDisputed(pool));
  });
}

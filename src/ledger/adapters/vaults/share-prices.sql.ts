/** A price is what so many shares are worth: many more than anybody has, so that the price is exact for all holdings. */
export const PRICED_SHARES = 10n ** 36n;

/** A yearly rate is told from prices that are at least so far apart, and at most MOST_DAYS. */
const LEAST_TIME = "interval '1 day'";
/** Days of which the last price is kept, before the newest. */
export const MOST_DAYS = 7;
/** Hundredths of a percent: more than 100,000 % a year is a price that was wrong. */
const MOST_APR = 10_000_000;
const YEAR_S = 365 * 86_400;

const RATE = `(SELECT least(greatest(round((s.price / nullif(o.price, 0) - 1) * ${YEAR_S}
      / extract(epoch FROM s.block_time - o.block_time) * 10000), 0), ${MOST_APR})::bigint
    FROM (SELECT * FROM share_prices WHERE vault = s.vault ORDER BY day LIMIT 1) o
    WHERE o.block_time <= s.block_time - ${LEAST_TIME})`;

/**
 * SQL: joins `v`, what the account of a vault's pool has earned and can take, and its rate, by the newest price. Nulls for
 * pools of other contracts, which costs nothing where no vault is followed, and before there is a price.
 */
export const shareYield = (pool: string): string => `
  LEFT JOIN LATERAL (
    SELECT n.name AS account, greatest(div(coalesce(h.shares, 0) * s.price, ${PRICED_SHARES}::numeric) - coalesce(h.cost, 0), 0) AS claimable,
      ${RATE} AS apr_bps
    FROM pool_names n
    JOIN LATERAL (SELECT * FROM share_prices WHERE vault = n.contract ORDER BY day DESC LIMIT 1) s ON true
    LEFT JOIN share_holdings h ON h.vault = n.contract AND h.account = n.name
    WHERE n.pool_id = ${pool} AND (SELECT EXISTS (SELECT FROM share_prices))
  ) v ON true`;

/** Of pool `p`, beside `v` of `shareYield`: what shares of a vault have earned is in no sum. */
export const TOTAL_YIELD =
  'CASE WHEN v.account IS NULL THEN p.total_yield ELSE p.claimed_yield + v.claimable END';
export const APR_BPS = 'coalesce(v.apr_bps, p.apr_bps)';

import { statement } from '#platform/postgres/statement';
import { MEMBERSHIPS, MEMBER_TOTAL, candidates, memberIds, oldest, total, uuidOf } from './memberships.sql';
import { type ListParameters, type ListRow, OWN, items, newest } from './transactions.sql';

/** Pages that begin later than this are read with LIST_DEEP_TRANSACTIONS. */
export const DEEP_OFFSET = 1000;

/** The caller's own rows by day, from their counts. */
const OWN_DAYS = `
    own_days AS MATERIALIZED (
      SELECT day, sum(${total('deposits', 'withdrawals', 'claims')}) AS count
      FROM account_days WHERE address = :caller GROUP BY day
    )`;

/** How many there are: counts are kept of own days and of memberships. */
const WHOLE = `
    whole AS MATERIALIZED (
      SELECT ((SELECT coalesce(sum(count), 0) FROM own_days) + ${MEMBER_TOTAL})::bigint AS total
    )`;

const ROWS = '(SELECT rows FROM reach)';
/** Rows from the first up to the end of this page; none for a page behind the last. */
const REACH = `
    reach AS MATERIALIZED (
      SELECT CASE WHEN total > :offset THEN :limit + :offset ELSE 0 END AS rows FROM whole
    )`;

/** Ids from pools that the caller is a member of, each once: they are counted. */
const MEMBER_IDS = `
    member_ids AS MATERIALIZED (SELECT DISTINCT id FROM (${memberIds(ROWS)}) found)`;

/** The end of each own day as an id, ascending: ids are UUIDv7, so days are ranges of ids. */
const ENDS = `
    ends AS MATERIALIZED (
      SELECT array_agg((lpad(to_hex(extract(epoch FROM day + 1)::bigint * 1000), 12, '0') || repeat('0', 20))::uuid
        ORDER BY day) AS ids FROM own_days
    )`;

/** The oldest own day that at most `:offset` rows are newer than, and how many they are. `n` numbers the own days. */
const PAGE_START = `
    page_start AS MATERIALIZED (
      SELECT ids[n] AS below, newer FROM (
        SELECT n, sum(own) OVER newest_first - own + sum(others) OVER newest_first AS newer FROM (
          SELECT n, sum(own) AS own, sum(others) AS others FROM (
            SELECT row_number() OVER (ORDER BY day)::int AS n, count AS own, 0 AS others FROM own_days
            UNION ALL
            SELECT width_bucket(id, ids), 0, count(*) FROM member_ids, ends WHERE ids IS NOT NULL GROUP BY 1
          ) parts GROUP BY n
        ) days WINDOW newest_first AS (ORDER BY n DESC)
      ) days, ends WHERE n > 0 AND newer <= :offset ORDER BY n LIMIT 1
    )`;

/** Where to read from, and how many rows to skip there; without such a day, from the newest. */
const START = `
    start AS MATERIALIZED (
      SELECT coalesce((SELECT below FROM page_start), ${uuidOf('f')}) AS below,
        :offset - coalesce((SELECT newer FROM page_start), 0)::bigint AS skipped
    )`;

/**
 * Like LIST_TRANSACTIONS, for a page far from the start. In the caller's own rows, the days before the page are skipped
 * by their counts. For pools that the caller is a member of, the ids before the page are read from the index, so that
 * part costs as much as the offset.
 */
export const LIST_DEEP_TRANSACTIONS = statement<ListParameters & { user: string }, ListRow>(
  'list_deep_transactions',
  { user: 'uuid', caller: 'text', type: 'text', limit: 'bigint', offset: 'bigint' },
  `
    WITH ${[
      ...[MEMBERSHIPS, OWN_DAYS, WHOLE, REACH, candidates(ROWS), oldest(ROWS), MEMBER_IDS],
      ...[ENDS, PAGE_START, START],
    ].join()}
    SELECT whole.total::int, list.data, list.last
    FROM whole, ${items(`
      SELECT DISTINCT id FROM (
        (${newest(
          OWN.map((own) => `${own} AND id < (SELECT below FROM start)`),
          '(SELECT :limit + skipped FROM start, whole WHERE total > :offset UNION ALL SELECT 0 LIMIT 1)',
        )})
        UNION ALL
        SELECT id FROM member_ids WHERE id < (SELECT below FROM start)
      ) found ORDER BY id DESC LIMIT :limit OFFSET (SELECT skipped FROM start)`)} list`,
  { onStandby: true, chargedTo: 'caller' },
);

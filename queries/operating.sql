-- Named statements of operating. Written by `npm run generate`.

-- src/platform/operating/records.sql.ts
-- $1 after timestamptz, $2 batch integer
PREPARE remove_expired_operator_records AS
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended('expired operator_records', 0)) AS mine
), removed AS (
  DELETE FROM operator_records WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM operator_records
    WHERE (SELECT mine FROM turn) AND begun_at < now() - interval '3 years' AND begun_at >= coalesce(($1::timestamptz), '-infinity')
    ORDER BY begun_at LIMIT ($2::integer) FOR UPDATE SKIP LOCKED))
  RETURNING begun_at
)
SELECT count(*)::int AS removed, max(begun_at)::text AS reached FROM removed;

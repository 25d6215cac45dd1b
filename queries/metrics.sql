-- Named statements of metrics. Written by `npm run generate`.

-- src/features/metrics/database-clock.ts
PREPARE database_clock AS
SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds;

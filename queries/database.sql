-- Named statements of database. Written by `npm run generate`.

-- src/platform/database/database-clock.ts
PREPARE database_clock AS
SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds;

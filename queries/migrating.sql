-- Named statements of migrating. Written by `npm run generate`.

-- src/platform/migrating/schema.ts
PREPARE schema_state AS
SELECT ARRAY(SELECT name::text FROM migrations ORDER BY id) AS applied,
     ARRAY(SELECT name FROM required_migrations ORDER BY name) AS required,
     substring(obj_description('migrations'::regclass, 'pg_class') FROM 'of ([^:]+):') AS functions;

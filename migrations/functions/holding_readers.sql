-- Ends sessions of savings_read_only that hold others up, as it can neither write nor needs a lock: an open
-- transaction with an id holds back all events, and so may advisory locks do with all writes. Returns how many.
CREATE OR REPLACE FUNCTION end_holding_readers() RETURNS integer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  -- An owner that is no member of the role may not.
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'savings_read_only' AND pg_has_role(oid, 'USAGE')) THEN
    RETURN 0;
  END IF;
  RETURN (SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a
    WHERE a.usename = 'savings_read_only' AND EXISTS (SELECT FROM pg_locks l
      WHERE l.pid = a.pid AND (l.locktype = 'advisory'
        OR l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock')));
END $$;

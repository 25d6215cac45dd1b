-- Undoes the baseline. Events of the outbox go with it, so nothing is left of a later version's topics.

-- Those of migrations/functions too, with triggers, defaults and checks that call them; nothing of an extension.
DO $$
DECLARE
  each regprocedure;
BEGIN
  FOR each IN
    SELECT p.oid FROM pg_proc p
    WHERE p.pronamespace = 'public'::regnamespace AND p.proowner = current_user::regrole AND p.prokind = 'f'
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
  LOOP
    EXECUTE format('DROP FUNCTION %s CASCADE', each);
  END LOOP;
END $$;

DROP VIEW new_pools;

DROP TABLE
  webhook_deliveries, webhook_crowds, webhook_events, webhooks,
  event_tickets, outbox_set_aside, outbox_consumers, outbox_removed, outbox_staged, outbox,
  circle_rounds, circle_members, circles,
  lottery_totals, lottery_tickets, lottery_draws,
  position_journal, accrual_rates, pool_weights, positions,
  set_aside_counts, verify_walks, receipt_waits, pool_names, share_holdings, share_totals, share_prices,
  chain_events, chain_blocks, chain_facts, chain_tokens,
  chain_contracts_apart, chain_contracts, chain_cursor, chain_proofs,
  pool_totals, member_counts, member_streams, owner_totals, account_days,
  submissions, yield_accruals, transactions,
  cancelled_pools, pool_members, pools,
  account_deletions, session_endings, idempotency_keys, nonces, users,
  operator_records, required_migrations;

DROP DOMAIN address, amount, sum_from_zero, pool_type, pool_role, transaction_type, transaction_status;

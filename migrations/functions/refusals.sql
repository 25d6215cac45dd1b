-- Only triggers may write derived data, and nobody changes what totals do not follow.

CREATE OR REPLACE TRIGGER transactions_fixed BEFORE TRUNCATE OR UPDATE OF id, pool_id, owner_id, by_owner, type,
  account, created_at ON transactions
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_write('totals would not follow');
CREATE OR REPLACE TRIGGER yield_accruals_fixed BEFORE UPDATE OR TRUNCATE ON yield_accruals
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_write('totals would not follow');
CREATE OR REPLACE TRIGGER pool_members_fixed BEFORE UPDATE OR TRUNCATE ON pool_members
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_write('counts would not follow');
CREATE OR REPLACE TRIGGER pools_fixed BEFORE TRUNCATE OR UPDATE OF id, type, owner_id, contract_address,
  created_at ON pools
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_write('totals would not follow');
CREATE OR REPLACE TRIGGER pools_derived BEFORE UPDATE OF balance, pending_balance, total_yield, claimed_yield, apr_bps,
  member_count, deposit_count, withdrawal_count, claim_count, last_deposit_id, last_withdrawal_id, last_claim_id,
  last_claimed_at ON pools
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_write('derived from the ledger');
CREATE OR REPLACE TRIGGER account_days_derived BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON account_days
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_write('derived from the ledger');
CREATE OR REPLACE TRIGGER owner_totals_derived BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON owner_totals
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_write('derived from the ledger');
CREATE OR REPLACE TRIGGER pool_totals_derived BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pool_totals
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_write('derived from the ledger');
CREATE OR REPLACE TRIGGER member_streams_derived BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON member_streams
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_write('derived from the ledger');
CREATE OR REPLACE TRIGGER member_counts_derived BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON member_counts
  FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_write('derived from the ledger');

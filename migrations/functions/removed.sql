-- What 1.1.0 had and this version has not. It can go once no upgrade comes from 1.1.0 any more.

DROP TRIGGER IF EXISTS a_refuse_who_left ON new_pools;
DROP TRIGGER IF EXISTS publish_pools ON pools;
DROP TRIGGER IF EXISTS pool_members_deleting ON pool_members;
DROP TRIGGER IF EXISTS pools_kept ON pools;
DROP TRIGGER IF EXISTS pool_members_kept ON pool_members;
DROP TRIGGER IF EXISTS transactions_kept ON transactions;
DROP TRIGGER IF EXISTS yield_accruals_kept ON yield_accruals;
DROP TRIGGER IF EXISTS account_days_kept ON account_days;
DROP TRIGGER IF EXISTS owner_totals_kept ON owner_totals;
DROP TRIGGER IF EXISTS pool_totals_kept ON pool_totals;
DROP TRIGGER IF EXISTS member_streams_kept ON member_streams;
DROP TRIGGER IF EXISTS member_counts_kept ON member_counts;
DROP TRIGGER IF EXISTS submissions_follow ON transactions;
DROP TRIGGER IF EXISTS submissions_end ON transactions;
DROP TRIGGER IF EXISTS publish_accruals ON yield_accruals;
DROP TRIGGER IF EXISTS publish_deleted_accruals ON yield_accruals;
DROP TRIGGER IF EXISTS transactions_inserting ON transactions;
DROP TRIGGER IF EXISTS publish_inserted_transactions ON transactions;
DROP TRIGGER IF EXISTS publish_updated_transactions ON transactions;
DROP TRIGGER IF EXISTS publish_deleted_transactions ON transactions;
DROP FUNCTION IF EXISTS count_membership, hold_places, move_outside, pool_members_deleted,
  pool_members_deleting, pool_members_inserted, pools_deleted, pools_inserted, publish_accruals,
  publish_deleted_accruals, publish_deleted_draw_events, publish_deleted_transactions,
  publish_inserted_draw_events, publish_inserted_transactions, publish_pools, publish_taken_back,
  publish_told, publish_told_again, publish_transactions, publish_updated_draw_events,
  publish_updated_transactions, refuse_who_left, submissions_end, submissions_follow, take_contracts,
  transactions_deleted, transactions_inserted, transactions_inserting, transactions_updated,
  yield_accruals_deleted, yield_accruals_inserted;

-- Undoes the baseline. Events of the outbox go with it, so nothing is left of a later version's topics.

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

DROP FUNCTION
  delete_account, go_on_deleting, keep_operator_records, record_retries,
  cancel_pool, restore_pools, create_pools, hold_places, take_contracts,
  share_holdings_changed, after_restore, end_sessions, count_winners,
  webhook_deliveries_changed, webhooks_derived, publish_webhooks,
  publish_inserted_draw_events, publish_updated_draw_events, publish_deleted_draw_events, draw_topic, circle_topic,
  publish_inserted_transactions, publish_updated_transactions, publish_deleted_transactions,
  publish_accruals, publish_deleted_accruals, publish_pools, publish_staged,
  submissions_follow, submissions_end, publish_told, publish_told_again, publish_taken_back,
  pool_members_inserting, pool_members_inserted, pool_members_deleting, pool_members_deleted,
  move_outside, refresh_streams, count_membership, few_memberships,
  pools_inserted, pools_deleted, yield_accruals_inserted, yield_accruals_deleted,
  transactions_inserting, transactions_inserted, transactions_updated, transactions_deleted,
  refuse_write, pool_stand_in, creating, changed_at, writer, pool_totals_shard, outbox_xid, sorted_uuid;

DROP DOMAIN address, amount, sum_from_zero, pool_type, pool_role, transaction_type, transaction_status;

DROP FUNCTION iso, is_address;

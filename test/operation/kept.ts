/** What becomes of a column that names people, when one of them has the account deleted. */
export type Fate =
  /** It goes with the deletion. */
  | 'goes'
  /** It goes by its age, or with what it belongs to, within the days that docs/data.md names. */
  | 'expires'
  /** The ledger, or what is derived from it: it says what the chain says. */
  | 'ledger'
  /** It names no people. */
  | 'nobody';

/**
 * Every column that may name a person, by an address, the id of a user, or JSON that may hold either. A new one fails the
 * test until it is here, unless it is a foreign key to `users` that cascades. Its table is in docs/data.md.
 */
export const KEPT: Record<string, Record<string, Fate>> = {
  account_days: { address: 'ledger' },
  account_deletions: { address: 'goes', user_id: 'goes' },
  cancelled_pools: { owner_id: 'ledger', account: 'ledger', contract_address: 'nobody', members: 'goes' },
  chain_contracts: { address: 'nobody', calls: 'nobody', errors: 'nobody' },
  chain_contracts_apart: { address: 'nobody' },
  chain_events: { account: 'ledger' },
  chain_facts: { token_address: 'nobody' },
  chain_tokens: { contract: 'nobody', token: 'nobody' },
  circle_members: { account: 'ledger' },
  circle_rounds: { account: 'ledger' },
  circles: { organiser: 'ledger' },
  event_tickets: { session: 'expires' },
  idempotency_keys: { user_id: 'goes' },
  lottery_draws: { winner: 'ledger', winner_tickets: 'nobody' },
  lottery_tickets: { account: 'ledger' },
  lottery_totals: { winners: 'nobody' },
  member_counts: { address: 'ledger' },
  member_streams: { address: 'ledger' },
  nonces: { address: 'expires' },
  operator_records: { person: 'nobody', arguments: 'expires', result: 'nobody' },
  outbox: { items: 'expires' },
  outbox_consumers: { holder: 'nobody' },
  outbox_set_aside: { event: 'expires' },
  outbox_staged: { items: 'nobody' },
  owner_totals: { owner_id: 'ledger' },
  pool_members: { address: 'ledger' },
  pool_names: { name: 'ledger' },
  pools: { owner_id: 'ledger', contract_address: 'nobody', member_count: 'nobody' },
  position_journal: { address: 'ledger', former: 'ledger' },
  positions: { address: 'ledger' },
  share_holdings: { vault: 'nobody', account: 'ledger' },
  share_totals: { vault: 'nobody' },
  share_prices: { vault: 'nobody' },
  session_endings: { user_id: 'expires' },
  submissions: { account: 'ledger', sender: 'ledger' },
  transactions: { owner_id: 'ledger', by_owner: 'nobody', account: 'ledger' },
  users: { id: 'ledger', address: 'ledger' },
  webhook_crowds: { address: 'expires' },
  webhook_events: { body: 'expires' },
  webhooks: { user_id: 'goes', address: 'goes' },
};

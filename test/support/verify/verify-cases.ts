/** How a value is changed by hand; the kind that names it, if it is not the column's own; which row it is of. */
type Case = [value: string, kind?: string, where?: string];
const SOMEONE = `'0x${'ee'.repeat(20)}'`;
const ANY_ID = 'gen_random_uuid()';
const TX_HASH = `'0x${'ab'.repeat(32)}'`;
const more = (column: string, kind?: string, where?: string): Case => [`${column} + 1`, kind, where];
const CLAIM = `kind = 'YieldClaimed'`;
const CONFIRMED = `status = 'CONFIRMED'`;
/** Of what was announced, a replay keeps what the API wrote. */
const UNANNOUNCED = `status = 'CONFIRMED' AND requested_amount IS NULL`;
const CONTRIBUTED = `kind = 'Contributed'`;
const TICKETS = `kind = 'TicketsIssued'`;

/** Cases of several columns, each with its own name. */
const each = (columns: string, of: (column: string) => Case): Record<string, Case> =>
  Object.fromEntries(columns.split(' ').map((column) => [column, of(column)]));
const allMore = (columns: string): Record<string, Case> => each(columns, (column) => more(column));
const allLater = (columns: string): Record<string, Case> =>
  each(columns, (column) => [`${column} + interval '1 second'`]);

const CASES: Record<string, Record<string, Case>> = {
  account_days: {
    address: [SOMEONE, 'account_days.deposited'],
    day: ['day + 40', 'account_days.deposits'],
    contract: [SOMEONE, 'account_days.deposits'],
    ...allMore('deposited pending claimed deposits withdrawals claims'),
  },
  accrual_rates: {
    pool_id: [ANY_ID, 'accrual_rates.time'],
    number: more('number + 3', 'accrual_rates.time'),
    ...allMore('time per_weight per_unit'),
  },
  cancelled_pools: { id: ['(SELECT id FROM pools LIMIT 1)', 'cancelled_pools.state'] },
  chain_blocks: {
    number: ['1000'],
    hash: [TX_HASH, undefined, 'number = 5'],
    parent_hash: [TX_HASH, 'chain_blocks.(parent_)?hash', 'number = 5'],
    time: [`time + interval '1 second'`, undefined, 'number = 5'],
  },
  chain_cursor: {
    genesis_hash: [TX_HASH],
    block_number: ['block_number - 1'],
    block_hash: [TX_HASH],
    applied_number: ['block_number + 1'],
    proven_number: ['block_number + 1'],
    finalized_number: ['block_number + 1'],
    chain_id: more('chain_id'),
    block_time: [`block_time + interval '1 second'`],
  },
  chain_events: {
    block_number: ['block_number - 1', undefined, TICKETS],
    log_index: more('log_index + 100', undefined, CLAIM),
    block_hash: [TX_HASH],
    block_time: [`block_time + interval '1 second'`, undefined, `kind = 'YieldAccrued'`],
    tx_hash: [TX_HASH, undefined, TICKETS],
    contract: [SOMEONE, 'chain_events.seq', 'seq = 2'],
    seq: ['99'],
    kind: [`'PrizeFunded'`, undefined, TICKETS],
    pool_id: [ANY_ID, undefined, `outcome = 'UNKNOWN_POOL'`],
    pool_name: [`'7'`, undefined, TICKETS],
    ref: [ANY_ID, undefined, 'ref IS NOT NULL'],
    draw_id: more('draw_id', undefined, TICKETS),
    account: [SOMEONE, undefined, TICKETS],
    amount: more('amount', undefined, TICKETS),
    fee: ['7', undefined, TICKETS],
    remaining: ['7', undefined, TICKETS],
    apr_bps: more('apr_bps', undefined, 'apr_bps IS NOT NULL'),
    draw_time: [`draw_time + interval '1 second'`, undefined, 'draw_time IS NOT NULL'],
    circle_id: more('circle_id', undefined, CONTRIBUTED),
    place: more('place', undefined, CONTRIBUTED),
    shares: ['7', undefined, TICKETS],
    outcome: [`'UNKNOWN_POOL'`, undefined, TICKETS],
    reason: ['NULL', undefined, 'reason IS NOT NULL'],
    transaction_id: [ANY_ID, undefined, `kind = 'YieldAccrued'`],
    ...allMore('collateral period'),
  },
  chain_facts: { chain_id: more('chain_id', 'chain_cursor.chain_id') },
  circles: {
    contract: [SOMEONE, 'circles.pool_id'],
    circle_id: more('circle_id + 7', 'circles.pool_id'),
    pool_id: [ANY_ID],
    organiser: [SOMEONE],
    state: [`'COMPLETED'`, undefined, `state = 'CANCELLED'`],
    ...allMore('contribution collateral period places rounds_ended'),
    ...allLater('join_by round_end opened_at'),
  },
  circle_members: {
    account: [SOMEONE, 'circle_members.place'],
    place: ['place + 7'],
    ...allMore('collateral paid missed won paid_out refunded'),
    joined_at: [`joined_at + interval '1 second'`],
  },
  circle_rounds: {
    round: ['round + 7', 'circle_rounds.account'],
    account: [SOMEONE],
    ...allMore('paid_count pot'),
    ...allLater('ends_at ended_at'),
  },
  lottery_draws: {
    contract: [SOMEONE, 'lottery_draws.status'],
    draw_id: more('draw_id + 7', 'lottery_draws.status'),
    status: [`'DRAWING'`, undefined, `status = 'CANCELLED'`],
    winner: [SOMEONE, undefined, 'winner IS NOT NULL'],
    winner_tickets: more('winner_tickets', undefined, 'winner IS NOT NULL'),
    prize: more('prize', undefined, 'winner IS NOT NULL'),
    drawn_at: [`drawn_at + interval '1 second'`, undefined, 'winner IS NOT NULL'],
    paid: ['NOT paid'],
    ...allMore('ticket_price prize_pool participants total_tickets pick_block'),
    draw_time: [`draw_time + interval '1 second'`],
  },
  lottery_tickets: {
    contract: [SOMEONE, 'lottery_tickets.tickets'],
    draw_id: more('draw_id + 7', 'lottery_tickets.tickets'),
    account: [SOMEONE, 'lottery_tickets.tickets'],
    ...allMore('tickets paid_in refunded'),
  },
  lottery_totals: { winners: more('winners') },
  member_counts: {
    address: [SOMEONE, 'member_counts.count'],
    type: [`'WITHDRAWAL'`, 'member_counts.count', `type = 'cooperative'`],
    count: more('count'),
  },
  member_streams: {
    pool_id: [ANY_ID, 'member_streams.first_id'],
    address: [SOMEONE, 'member_streams.first_id'],
    type: [
      `'WITHDRAWAL'`,
      'member_streams.first_id',
      `status = 'PENDING' OR pool_id <> pool_id OR type = 'DEPOSIT'`,
    ],
    status: [`'EXPIRED'`, 'member_streams.first_id'],
    first_id: [ANY_ID],
    last_id: [ANY_ID],
  },
  outbox: {
    items: [`'[]'`, undefined, `items::text LIKE '%tickets.issued%'`],
    count: more('count'),
  },
  owner_totals: {
    owner_id: [`(SELECT id FROM users WHERE id <> owner_id)`, 'owner_totals.pools'],
    type: [`'rotating'`, 'owner_totals.pools'],
    contract: [SOMEONE, 'owner_totals.pools'],
    ...allMore('pools active yield apr_bps'),
  },
  pool_members: {
    role: [`'MEMBER'`, undefined, `role = 'OWNER'`],
    type: [`'rotating'`],
    indexed: ['NOT indexed', 'member_counts.count', 'indexed'],
  },
  pool_totals: {
    type: [`'unknown'`, 'pool_totals.pools'],
    contract: [SOMEONE, 'pool_totals.pools'],
    ...allMore('pools deposited pending yield apr_bps'),
  },
  pool_weights: {
    pool_id: [ANY_ID, 'pool_weights.total'],
    ...allMore('total weight_offset accruals last_time last_per_unit'),
  },
  pools: {
    id: [ANY_ID, 'chain_events.outcome|pools.balance|pool_totals.deposited'],
    last_deposit_id: [ANY_ID],
    last_withdrawal_id: [ANY_ID],
    last_claim_id: [ANY_ID],
    type: [`'rotating'`, 'pool_members.type|pool_totals.pools'],
    owner_id: ['(SELECT id FROM users WHERE id <> owner_id)', 'pool_members.role'],
    contract_address: [SOMEONE, 'chain_events.contract'],
    last_claimed_at: [`last_claimed_at + interval '1 second'`, undefined, 'last_claimed_at IS NOT NULL'],
    ...allMore(
      'deposit_count withdrawal_count claim_count balance pending_balance total_yield claimed_yield apr_bps member_count',
    ),
  },
  positions: {
    pool_id: [ANY_ID, 'positions.balance'],
    address: [SOMEONE, 'positions.balance'],
    ...allMore('balance weight_offset owed accruals deposited withdrawn claimed'),
  },
  set_aside_counts: { outcome: [`'FAILED'`, 'set_aside_counts.count'], count: more('count') },
  transactions: {
    id: [ANY_ID, 'chain_events.transaction', UNANNOUNCED],
    pool_id: ['(SELECT id FROM pools WHERE id <> pool_id LIMIT 1)', 'chain_events.transaction', UNANNOUNCED],
    owner_id: ['(SELECT id FROM users WHERE id <> owner_id)'],
    by_owner: ['NOT by_owner'],
    type: [`'WITHDRAWAL'`, 'chain_events.transaction', `type = 'YIELD_CLAIM'`],
    status: [`'EXPIRED'`, 'pools.pending_balance', `status = 'PENDING'`],
    account: [SOMEONE, 'chain_events.transaction', UNANNOUNCED],
    amount: more('amount', 'chain_events.transaction', CONFIRMED),
    requested_amount: ['NULL', undefined, `status = 'CONFIRMED' AND requested_amount IS NOT NULL`],
    tx_hash: [TX_HASH, 'chain_events.transaction', CONFIRMED],
    block_number: more('block_number', 'chain_events.transaction', CONFIRMED),
    log_index: more('log_index + 100', 'chain_events.transaction', CONFIRMED),
    created_at: [`created_at - interval '1 day'`, undefined, 'requested_amount IS NULL'],
    confirmed_at: [`confirmed_at + interval '1 second'`, undefined, 'requested_amount IS NOT NULL'],
  },
  users: { address: [SOMEONE, 'pool_members.role'] },
  yield_accruals: {
    block_number: more('block_number + 100', 'chain_events.accrual'),
    log_index: more('log_index + 100', 'chain_events.accrual'),
    pool_id: ['(SELECT id FROM pools WHERE id <> pool_id LIMIT 1)', 'chain_events.accrual'],
    amount: more('amount', 'chain_events.accrual'),
    apr_bps: more('apr_bps', 'chain_events.accrual'),
    accrued_at: [`accrued_at + interval '1 second'`],
  },
};

/** One row of a table gets another value in one column. */
export interface Corruption {
  table: string;
  column: string;
  /** What verification calls it: a pattern. */
  kind: string;
  statement: string;
}

export const CORRUPTIONS: readonly Corruption[] = Object.entries(CASES).flatMap(([table, columns]) =>
  Object.entries(columns).map(([column, [value, kind = `${table}.${column}`, where = 'true']]) => ({
    table,
    column: `${table}.${column}`,
    kind: `^(${kind})$`,
    statement: `UPDATE ${table} SET ${column} = ${value}
      WHERE ctid = (SELECT ctid FROM ${table} t WHERE (${where}) AND (${column})::text IS DISTINCT FROM (${value})::text LIMIT 1)`,
  })),
);

/** What the chain, people and nodes said. From it all the rest follows. */
const GIVEN = [
  ...['cancelled_pools', 'chain_blocks', 'chain_cursor', 'chain_events', 'chain_facts', 'outbox'],
  ...['pool_members', 'transactions', 'users', 'yield_accruals'],
  ...['id', 'type', 'owner_id', 'contract_address'].map((column) => `pools.${column}`),
];
export const isGiven = ({ table, column }: Corruption): boolean =>
  GIVEN.includes(table) || GIVEN.includes(column);

/** One corruption of each table at a time: in tables that follow from others none hides another. */
export function rounds(of: readonly Corruption[]): Corruption[][] {
  const made: Corruption[][] = [];
  const counts = new Map<string, number>();
  for (const each of of) {
    const round = counts.get(each.table) ?? 0;
    counts.set(each.table, round + 1);
    (made[round] ??= []).push(each);
  }
  return made;
}

/** Tables whose every row follows from others. */
export const DERIVED_TABLES = Object.keys(CASES).filter(
  (table) => !GIVEN.includes(table) && table !== 'pools',
);

const extra = (table: string, key: Record<string, string | number>): string =>
  `INSERT INTO ${table} SELECT (jsonb_populate_record(r, '${JSON.stringify(key)}')).* FROM ${table} r LIMIT 1`;
const NOBODY = `0x${'ef'.repeat(20)}`;
const NO_ID = '0e000000-0000-7000-8000-000000000001';
/** Rows that nothing explains. With the draw there is a winner too many in lottery_totals. */
export const EXTRA_ROWS = [
  extra('account_days', { address: NOBODY, claims: 3 }),
  extra('accrual_rates', { number: 77 }),
  extra('circles', { circle_id: 77, pool_id: NO_ID }),
  extra('circle_members', { account: NOBODY, place: 7 }),
  extra('circle_rounds', { round: 7 }),
  extra('lottery_draws', { draw_id: 77, status: 'COMPLETED' }),
  extra('lottery_tickets', { account: NOBODY }),
  extra('member_counts', { address: NOBODY, count: 3 }),
  extra('member_streams', { address: NOBODY }),
  extra('owner_totals', { type: 'rotating', pools: 3 }),
  extra('pool_totals', { type: 'rotating', pools: 3 }),
  extra('pool_weights', { pool_id: NO_ID }),
  extra('positions', { address: NOBODY }),
  extra('set_aside_counts', { outcome: 'FAILED', count: 3 }),
];

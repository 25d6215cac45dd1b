import { type TypedStatement, statement } from '#platform/postgres/statement';
import { settingsOf } from '#features/pools/pool-settings.sql';

interface Place {
  /** The user's id, or the address, as `by` says. */
  who: string;
  /** The key of the row before. */
  after: string[];
  limit: number;
}
interface Row {
  /** JSON of the row. Amounts are texts. */
  data: string;
  key: string[];
}

/** Rows of one kind, in the order of an index. */
export interface Section {
  kind: string;
  by: 'user' | 'address';
  /** Before all keys. */
  first: string[];
  /** Pattern of a key, its parts with spaces between them. */
  form: RegExp;
  statement: TypedStatement<Place, Row>;
}

const ZERO = '00000000-0000-0000-0000-000000000000';
const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const TYPE_AND_ID = new RegExp(`[A-Z_]{0,20} ${ID.source}`);

const section = (
  kind: string,
  by: Section['by'],
  first: string[],
  form: RegExp,
  fields: string,
  key: string,
  rest: string,
): Section => ({
  kind,
  by,
  first,
  form,
  statement: statement<Place, Row>(
    `export_${kind}`,
    { who: by === 'user' ? 'uuid' : 'text', after: 'text[]', limit: 'integer' },
    `SELECT json_build_object(${fields})::text AS data, ARRAY[${key}] AS key FROM ${rest} LIMIT :limit`,
    { chargedTo: 'who' },
  ),
});

const TRANSACTION = `
  'id', t.id, 'poolId', t.pool_id, 'byOwner', t.by_owner, 'type', t.type, 'status', t.status, 'account', t.account,
  'amount', t.amount::text, 'requestedAmount', t.requested_amount::text, 'txHash', t.tx_hash,
  'blockNumber', t.block_number, 'logIndex', t.log_index, 'gasUsed', t.gas_used::text, 'gasPrice', t.gas_price::text,
  'l1Fee', t.l1_fee::text, 'createdAt', iso(t.created_at), 'confirmedAt', iso(t.confirmed_at),
  'submitted', (SELECT json_build_object('hash', s.hash, 'at', iso(s.at), 'sender', s.sender) FROM submissions s
    WHERE s.transaction_id = t.id)`;

/**
 * What the service keeps of a person, as rows. What it leaves out is in `kept.ts`, with the reason. Each reads its rows
 * from an index behind the key of the one before, so a page costs the same at any depth.
 */
export const SECTIONS: readonly Section[] = [
  section(
    'account',
    'user',
    [ZERO],
    ID,
    `'id', u.id, 'address', u.address, 'createdAt', iso(u.created_at), 'sessionGeneration', u.session_generation`,
    'u.id::text',
    'users u WHERE u.id = :who AND u.id > (:after)[1]::uuid',
  ),
  section(
    'webhook',
    'user',
    ['0'],
    /\d{1,4}/,
    `'id', w.id, 'url', w.url, 'topics', w.topics, 'status', w.status, 'failures', w.failures,
     'failingSince', iso(w.failing_since), 'lastError', w.last_error, 'createdAt', iso(w.created_at)`,
    'w.slot::text',
    'webhooks w WHERE w.user_id = :who AND w.slot > (:after)[1]::smallint ORDER BY w.slot',
  ),
  section(
    'webhook_delivery',
    'user',
    [ZERO, ''],
    new RegExp(`${ID.source} [0-9a-f-]{0,60}`),
    `'id', d.id, 'webhookId', d.webhook_id, 'eventId', d.event_id, 'topic', d.topic, 'status', d.status,
     'attempts', d.attempts, 'lastStatus', d.last_status, 'lastError', d.last_error,
     'createdAt', iso(d.created_at), 'deliveredAt', iso(d.delivered_at)`,
    'd.webhook_id::text, d.event_id',
    `webhooks w CROSS JOIN LATERAL (
       SELECT * FROM webhook_deliveries WHERE webhook_id = w.id
         AND (webhook_id, event_id) > ((:after)[1]::uuid, (:after)[2]) ORDER BY event_id LIMIT :limit) d
     WHERE w.user_id = :who AND w.id >= (:after)[1]::uuid ORDER BY d.webhook_id, d.event_id`,
  ),
  section(
    'stored_answer',
    'user',
    [''],
    /[\x21-\x7e]{0,255}/,
    `'key', k.key, 'requestHash', k.request_hash, 'response', k.response, 'createdAt', iso(k.created_at)`,
    'k.key',
    'idempotency_keys k WHERE k.user_id = :who AND k.key > (:after)[1] ORDER BY k.key',
  ),
  section(
    'membership',
    'address',
    [ZERO],
    ID,
    `'poolId', m.pool_id, 'role', m.role, 'type', m.type,
     'pool', CASE WHEN m.role = 'OWNER' THEN json_build_object('contractAddress', p.contract_address,
       'balance', p.balance::text, 'pendingBalance', p.pending_balance::text, 'totalYield', p.total_yield::text,
       'claimedYield', p.claimed_yield::text, ${settingsOf('p')}, 'memberCount', p.member_count,
       'members', (SELECT coalesce(json_agg(o.address ORDER BY o.address), '[]') FROM pool_members o
         WHERE o.pool_id = m.pool_id AND o.role = 'MEMBER'),
       'createdAt', iso(p.created_at), 'lastUpdate', iso(p.last_update)) END,
     'circle', (SELECT json_build_object('place', c.place, 'joinedAt', iso(c.joined_at),
         'collateral', c.collateral::text, 'paid', c.paid::text, 'missed', c.missed, 'won', c.won::text,
         'paidOut', c.paid_out::text, 'refunded', c.refunded::text)
       FROM circles s JOIN circle_members c ON c.contract = s.contract AND c.circle_id = s.circle_id
       WHERE s.pool_id = m.pool_id AND c.account = m.address)`,
    'm.pool_id::text',
    `pool_members m JOIN pools p ON p.id = m.pool_id
     WHERE m.address = :who AND m.pool_id > (:after)[1]::uuid ORDER BY m.pool_id`,
  ),
  section(
    'cancelled_pool',
    'user',
    [ZERO],
    ID,
    `'id', c.id, 'type', c.type, 'contractAddress', c.contract_address, ${settingsOf('c')},
     'members', c.members, 'depositId', c.deposit_id, 'amount', c.amount::text, 'createdAt', iso(c.created_at),
     'cancelledAt', iso(c.cancelled_at)`,
    'c.id::text',
    'cancelled_pools c WHERE c.owner_id = :who AND c.id > (:after)[1]::uuid ORDER BY c.id',
  ),
  section(
    'cancelled_membership',
    'address',
    [ZERO],
    ID,
    `'poolId', c.id, 'role', 'MEMBER', 'type', c.type, 'cancelledAt', iso(c.cancelled_at)`,
    'c.id::text',
    `(SELECT * FROM cancelled_pools WHERE members @> ARRAY[:who] OFFSET 0) c
     WHERE c.id > (:after)[1]::uuid ORDER BY c.id`,
  ),
  // Those of others in pools of the person too: the person may read them, and the index has them in this order.
  section(
    'transaction',
    'user',
    ['', ZERO],
    TYPE_AND_ID,
    TRANSACTION,
    't.type::text, t.id::text',
    `transactions t WHERE t.owner_id = :who AND (t.type, t.id) > ((:after)[1], (:after)[2]::uuid)
     ORDER BY t.type, t.id`,
  ),
  section(
    'payment',
    'address',
    ['', ZERO],
    TYPE_AND_ID,
    TRANSACTION,
    't.type::text, t.id::text',
    `transactions t WHERE t.account = :who AND NOT t.by_owner
       AND (t.type, t.id) > ((:after)[1], (:after)[2]::uuid) ORDER BY t.type, t.id`,
  ),
  section(
    'position',
    'address',
    [ZERO],
    ID,
    `'poolId', o.pool_id, 'balance', o.balance::text, 'deposited', o.deposited::text,
     'withdrawn', o.withdrawn::text, 'claimed', o.claimed::text`,
    'o.pool_id::text',
    'positions o WHERE o.address = :who AND o.pool_id > (:after)[1]::uuid ORDER BY o.pool_id',
  ),
  section(
    'lottery_ticket',
    'address',
    ['', '-1'],
    /(?:0x[0-9a-f]{40})? -?\d{1,18}/,
    `'contract', l.contract, 'drawId', l.draw_id, 'tickets', l.tickets::text, 'paidIn', l.paid_in::text,
     'refunded', l.refunded::text`,
    'l.contract, l.draw_id::text',
    `lottery_tickets l WHERE l.account = :who AND (l.contract, l.draw_id) > ((:after)[1], (:after)[2]::bigint)
     ORDER BY l.contract, l.draw_id`,
  ),
];

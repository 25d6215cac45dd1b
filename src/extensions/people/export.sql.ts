import { type TypedStatement, statement } from '#platform/postgres/statement';
import { settingsOf } from '#features/pools/pools.sql';

interface PageQuery {
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
interface Section {
  kind: string;
  by: 'user' | 'address';
  /** Before all keys. */
  first: string[];
  /** Pattern of a key, its parts with spaces between them. */
  form: string;
  statement: TypedStatement<PageQuery, Row>;
}

/** By type of a column: what is before all its values, and their pattern. */
const KEYS = {
  uuid: ['00000000-0000-0000-0000-000000000000', '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'],
  text: ['', '[\\x21-\\x7e]{0,255}'],
  smallint: ['-1', '-?\\d{1,4}'],
  bigint: ['-1', '-?\\d{1,18}'],
} as const;
type Key = Record<string, keyof typeof KEYS>;

/** SQL: the rows after the previous one, in order. */
const following = (key: Key): string => {
  const after = Object.values(key).map((type, i) => `(:after)[${i + 1}]::${type}`);
  return `(${Object.keys(key).join()}) > (${after.join()}) ORDER BY ${Object.keys(key).join()} LIMIT :limit`;
};

/** @param key columns of an index, with their types */
const section = (kind: string, by: Section['by'], fields: string, rows: string, key: Key): Section => ({
  kind,
  by,
  first: Object.values(key).map((type) => KEYS[type][0]),
  form: Object.values(key)
    .map((type) => KEYS[type][1])
    .join(' '),
  statement: statement<PageQuery, Row>(
    `export_${kind}`,
    { who: by === 'user' ? 'uuid' : 'text', after: 'text[]', limit: 'integer' },
    `SELECT json_build_object(${fields})::text AS data,
       ARRAY[${Object.keys(key)
         .map((column) => `${column}::text`)
         .join()}] AS key
     FROM ${rows} AND ${following(key)}`,
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
 * What the service keeps of a person, as rows. What it leaves out is in `test/operation/kept.ts`, with the reason. Each
 * reads its rows from an index behind the key of the one before, so a page costs the same at any depth.
 */
export const SECTIONS: readonly Section[] = [
  section(
    'account',
    'user',
    `'id', u.id, 'address', u.address, 'createdAt', iso(u.created_at), 'sessionGeneration', u.session_generation`,
    'users u WHERE u.id = :who',
    { 'u.id': 'uuid' },
  ),
  section(
    'webhook',
    'user',
    `'id', w.id, 'url', w.url, 'topics', w.topics, 'status', w.status, 'failures', w.failures,
     'failingSince', iso(w.failing_since), 'lastError', w.last_error, 'createdAt', iso(w.created_at)`,
    'webhooks w WHERE w.user_id = :who',
    { 'w.slot': 'smallint' },
  ),
  section(
    'webhook_delivery',
    'user',
    `'id', d.id, 'webhookId', d.webhook_id, 'eventId', d.event_id, 'topic', d.topic, 'status', d.status,
     'attempts', d.attempts, 'lastStatus', d.last_status, 'lastError', d.last_error,
     'createdAt', iso(d.created_at), 'deliveredAt', iso(d.delivered_at)`,
    `webhooks w CROSS JOIN LATERAL (
       SELECT * FROM webhook_deliveries WHERE webhook_id = w.id AND ${following({ webhook_id: 'uuid', event_id: 'text' })}) d
     WHERE w.user_id = :who`,
    { 'd.webhook_id': 'uuid', 'd.event_id': 'text' },
  ),
  section(
    'stored_answer',
    'user',
    `'key', k.key, 'requestHash', k.request_hash, 'response', k.response, 'createdAt', iso(k.created_at)`,
    'idempotency_keys k WHERE k.user_id = :who',
    { 'k.key': 'text' },
  ),
  section(
    'membership',
    'address',
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
    'pool_members m JOIN pools p ON p.id = m.pool_id WHERE m.address = :who',
    { 'm.pool_id': 'uuid' },
  ),
  section(
    'cancelled_pool',
    'user',
    `'id', c.id, 'type', c.type, 'contractAddress', c.contract_address, ${settingsOf('c')},
     'members', c.members, 'depositId', c.deposit_id, 'amount', c.amount::text, 'createdAt', iso(c.created_at),
     'cancelledAt', iso(c.cancelled_at)`,
    'cancelled_pools c WHERE c.owner_id = :who',
    { 'c.id': 'uuid' },
  ),
  section(
    'cancelled_membership',
    'address',
    `'poolId', c.id, 'role', 'MEMBER', 'type', c.type, 'cancelledAt', iso(c.cancelled_at)`,
    '(SELECT * FROM cancelled_pools WHERE members @> ARRAY[:who] OFFSET 0) c WHERE true',
    { 'c.id': 'uuid' },
  ),
  // Those of others in pools of the person too: the person may read them, and the index has them in this order.
  section('transaction', 'user', TRANSACTION, 'transactions t WHERE t.owner_id = :who', {
    't.type': 'text',
    't.id': 'uuid',
  }),
  section('payment', 'address', TRANSACTION, 'transactions t WHERE t.account = :who AND NOT t.by_owner', {
    't.type': 'text',
    't.id': 'uuid',
  }),
  section(
    'position',
    'address',
    `'poolId', o.pool_id, 'balance', o.balance::text, 'deposited', o.deposited::text,
     'withdrawn', o.withdrawn::text, 'claimed', o.claimed::text`,
    'positions o WHERE o.address = :who',
    { 'o.pool_id': 'uuid' },
  ),
  section(
    'lottery_ticket',
    'address',
    `'contract', l.contract, 'drawId', l.draw_id, 'tickets', l.tickets::text, 'paidIn', l.paid_in::text,
     'refunded', l.refunded::text`,
    'lottery_tickets l WHERE l.account = :who',
    { 'l.contract': 'text', 'l.draw_id': 'bigint' },
  ),
];

export interface Person {
  /** Undefined for an address that never signed in. */
  userId?: string;
  address: string;
}

type Read = <Parameters extends object, Row extends object>(
  statement: TypedStatement<Parameters, Row>,
  values: Parameters,
) => Promise<Row[]>;

/**
 * The next rows that the service keeps of a person, as JSON texts. Each statement is short and reads few rows; the rows
 * are those of the moments in which they are read.
 * @param after `next` of the page before: the kind of its last row, and the row's key
 */
export async function exportPage(
  { userId, address }: Person,
  after: string | undefined,
  limit: number,
  read: Read,
): Promise<{ rows: string[]; next: string | null }> {
  const rows: string[] = [];
  const [from, ...key] = after?.split(' ') ?? [];
  const begun = SECTIONS.findIndex(({ kind }) => kind === from);
  for (const [i, { kind, by, first, statement }] of SECTIONS.entries()) {
    const who = by === 'user' ? userId : address;
    if (i < begun || who === undefined) continue;
    const most = limit - rows.length;
    const found = await read(statement, { who, after: i === begun ? key : first, limit: most });
    for (const { data } of found) rows.push(`{"kind":"${kind}","data":${data}}`);
    if (found.length === most) return { rows, next: [kind, ...found.at(-1)!.key].join(' ') };
  }
  return { rows, next: null };
}

-- Named statements of people. Written by `npm run generate`.

-- src/extensions/people/deletions.ts
-- $1 address text
PREPARE delete_account AS
SELECT delete_account(($1::text)) AS stays;

-- src/extensions/people/deletions.ts
-- $1 after text, $2 batch integer
PREPARE go_on_deleting AS
SELECT done AS removed, ($1::text) AS reached, done > 0 AS more FROM go_on_deleting(500, ($2::integer)) AS done;

-- src/extensions/people/export.sql.ts
-- $1 who uuid, $2 after text[], $3 limit integer
PREPARE export_account AS
SELECT json_build_object('id', u.id, 'address', u.address, 'createdAt', iso(u.created_at), 'sessionGeneration', u.session_generation)::text AS data,
       ARRAY[u.id::text] AS key
     FROM users u WHERE u.id = ($1::uuid) AND (u.id) > ((($2::text[]))[1]::uuid) ORDER BY u.id LIMIT ($3::integer);

-- src/extensions/people/export.sql.ts
-- $1 who text, $2 after text[], $3 limit integer
PREPARE export_cancelled_membership AS
SELECT json_build_object('poolId', c.id, 'role', 'MEMBER', 'type', c.type, 'cancelledAt', iso(c.cancelled_at))::text AS data,
       ARRAY[c.id::text] AS key
     FROM (SELECT * FROM cancelled_pools WHERE members @> ARRAY[($1::text)] OFFSET 0) c WHERE true AND (c.id) > ((($2::text[]))[1]::uuid) ORDER BY c.id LIMIT ($3::integer);

-- src/extensions/people/export.sql.ts
-- $1 who uuid, $2 after text[], $3 limit integer
PREPARE export_cancelled_pool AS
SELECT json_build_object('id', c.id, 'type', c.type, 'contractAddress', c.contract_address, 'autoCompound', c.auto_compound,
     'members', c.members, 'depositId', c.deposit_id, 'amount', c.amount::text, 'createdAt', iso(c.created_at),
     'cancelledAt', iso(c.cancelled_at))::text AS data,
       ARRAY[c.id::text] AS key
     FROM cancelled_pools c WHERE c.owner_id = ($1::uuid) AND (c.id) > ((($2::text[]))[1]::uuid) ORDER BY c.id LIMIT ($3::integer);

-- src/extensions/people/export.sql.ts
-- $1 who text, $2 after text[], $3 limit integer
PREPARE export_lottery_ticket AS
SELECT json_build_object('contract', l.contract, 'drawId', l.draw_id, 'tickets', l.tickets::text, 'paidIn', l.paid_in::text,
     'refunded', l.refunded::text)::text AS data,
       ARRAY[l.contract::text,l.draw_id::text] AS key
     FROM lottery_tickets l WHERE l.account = ($1::text) AND (l.contract,l.draw_id) > ((($2::text[]))[1]::text,(($2::text[]))[2]::bigint) ORDER BY l.contract,l.draw_id LIMIT ($3::integer);

-- src/extensions/people/export.sql.ts
-- $1 who text, $2 after text[], $3 limit integer
PREPARE export_membership AS
SELECT json_build_object('poolId', m.pool_id, 'role', m.role, 'type', m.type,
     'pool', CASE WHEN m.role = 'OWNER' THEN json_build_object('contractAddress', p.contract_address,
       'balance', p.balance::text, 'pendingBalance', p.pending_balance::text, 'totalYield', p.total_yield::text,
       'claimedYield', p.claimed_yield::text, 'autoCompound', p.auto_compound, 'memberCount', p.member_count,
       'members', (SELECT coalesce(json_agg(o.address ORDER BY o.address), '[]') FROM pool_members o
         WHERE o.pool_id = m.pool_id AND o.role = 'MEMBER'),
       'createdAt', iso(p.created_at), 'lastUpdate', iso(p.last_update)) END,
     'circle', (SELECT json_build_object('place', c.place, 'joinedAt', iso(c.joined_at),
         'collateral', c.collateral::text, 'paid', c.paid::text, 'missed', c.missed, 'won', c.won::text,
         'paidOut', c.paid_out::text, 'refunded', c.refunded::text)
       FROM circles s JOIN circle_members c ON c.contract = s.contract AND c.circle_id = s.circle_id
       WHERE s.pool_id = m.pool_id AND c.account = m.address))::text AS data,
       ARRAY[m.pool_id::text] AS key
     FROM pool_members m JOIN pools p ON p.id = m.pool_id WHERE m.address = ($1::text) AND (m.pool_id) > ((($2::text[]))[1]::uuid) ORDER BY m.pool_id LIMIT ($3::integer);

-- src/extensions/people/export.sql.ts
-- $1 who text, $2 after text[], $3 limit integer
PREPARE export_payment AS
SELECT json_build_object(
  'id', t.id, 'poolId', t.pool_id, 'byOwner', t.by_owner, 'type', t.type, 'status', t.status, 'account', t.account,
  'amount', t.amount::text, 'requestedAmount', t.requested_amount::text, 'txHash', t.tx_hash,
  'blockNumber', t.block_number, 'logIndex', t.log_index, 'gasUsed', t.gas_used::text, 'gasPrice', t.gas_price::text,
  'l1Fee', t.l1_fee::text, 'createdAt', iso(t.created_at), 'confirmedAt', iso(t.confirmed_at),
  'submitted', (SELECT json_build_object('hash', s.hash, 'at', iso(s.at), 'sender', s.sender) FROM submissions s
    WHERE s.transaction_id = t.id))::text AS data,
       ARRAY[t.type::text,t.id::text] AS key
     FROM transactions t WHERE t.account = ($1::text) AND NOT t.by_owner AND (t.type,t.id) > ((($2::text[]))[1]::text,(($2::text[]))[2]::uuid) ORDER BY t.type,t.id LIMIT ($3::integer);

-- src/extensions/people/export.sql.ts
-- $1 who text, $2 after text[], $3 limit integer
PREPARE export_position AS
SELECT json_build_object('poolId', o.pool_id, 'balance', o.balance::text, 'deposited', o.deposited::text,
     'withdrawn', o.withdrawn::text, 'claimed', o.claimed::text)::text AS data,
       ARRAY[o.pool_id::text] AS key
     FROM positions o WHERE o.address = ($1::text) AND (o.pool_id) > ((($2::text[]))[1]::uuid) ORDER BY o.pool_id LIMIT ($3::integer);

-- src/extensions/people/export.sql.ts
-- $1 who uuid, $2 after text[], $3 limit integer
PREPARE export_stored_answer AS
SELECT json_build_object('key', k.key, 'requestHash', k.request_hash, 'response', k.response, 'createdAt', iso(k.created_at))::text AS data,
       ARRAY[k.key::text] AS key
     FROM idempotency_keys k WHERE k.user_id = ($1::uuid) AND (k.key) > ((($2::text[]))[1]::text) ORDER BY k.key LIMIT ($3::integer);

-- src/extensions/people/export.sql.ts
-- $1 who uuid, $2 after text[], $3 limit integer
PREPARE export_transaction AS
SELECT json_build_object(
  'id', t.id, 'poolId', t.pool_id, 'byOwner', t.by_owner, 'type', t.type, 'status', t.status, 'account', t.account,
  'amount', t.amount::text, 'requestedAmount', t.requested_amount::text, 'txHash', t.tx_hash,
  'blockNumber', t.block_number, 'logIndex', t.log_index, 'gasUsed', t.gas_used::text, 'gasPrice', t.gas_price::text,
  'l1Fee', t.l1_fee::text, 'createdAt', iso(t.created_at), 'confirmedAt', iso(t.confirmed_at),
  'submitted', (SELECT json_build_object('hash', s.hash, 'at', iso(s.at), 'sender', s.sender) FROM submissions s
    WHERE s.transaction_id = t.id))::text AS data,
       ARRAY[t.type::text,t.id::text] AS key
     FROM transactions t WHERE t.owner_id = ($1::uuid) AND (t.type,t.id) > ((($2::text[]))[1]::text,(($2::text[]))[2]::uuid) ORDER BY t.type,t.id LIMIT ($3::integer);

-- src/extensions/people/export.sql.ts
-- $1 who uuid, $2 after text[], $3 limit integer
PREPARE export_webhook AS
SELECT json_build_object('id', w.id, 'url', w.url, 'topics', w.topics, 'status', w.status, 'failures', w.failures,
     'failingSince', iso(w.failing_since), 'lastError', w.last_error, 'createdAt', iso(w.created_at))::text AS data,
       ARRAY[w.slot::text] AS key
     FROM webhooks w WHERE w.user_id = ($1::uuid) AND (w.slot) > ((($2::text[]))[1]::smallint) ORDER BY w.slot LIMIT ($3::integer);

-- src/extensions/people/export.sql.ts
-- $1 after text[], $2 limit integer, $3 who uuid
PREPARE export_webhook_delivery AS
SELECT json_build_object('id', d.id, 'webhookId', d.webhook_id, 'eventId', d.event_id, 'topic', d.topic, 'status', d.status,
     'attempts', d.attempts, 'lastStatus', d.last_status, 'lastError', d.last_error,
     'createdAt', iso(d.created_at), 'deliveredAt', iso(d.delivered_at))::text AS data,
       ARRAY[d.webhook_id::text,d.event_id::text] AS key
     FROM webhooks w CROSS JOIN LATERAL (
       SELECT * FROM webhook_deliveries WHERE webhook_id = w.id AND (webhook_id,event_id) > ((($1::text[]))[1]::uuid,(($1::text[]))[2]::text) ORDER BY webhook_id,event_id LIMIT ($2::integer)) d
     WHERE w.user_id = ($3::uuid) AND (d.webhook_id,d.event_id) > ((($1::text[]))[1]::uuid,(($1::text[]))[2]::text) ORDER BY d.webhook_id,d.event_id LIMIT ($2::integer);

-- src/extensions/people/unfinished.ts
PREPARE unfinished AS
SELECT
     coalesce(extract(epoch FROM now() - (SELECT min(requested_at) FROM account_deletions)), 0)::float8 AS deletion,
     coalesce(extract(epoch FROM now() - (
       SELECT min(begun_at) FROM operator_records WHERE ended_at IS NULL)), 0)::float8 AS operation;

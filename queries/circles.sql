-- Named statements of circles. Written by `npm run generate`.

-- src/extensions/circles/circles.sql.ts
-- $1 caller text, $2 transaction uuid, $3 pool uuid
PREPARE circle_to_call AS
  SELECT
(m.account IS NOT NULL OR (
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = ($1::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = p.id AND o.address = ($1::text)))) AS readable, p.contract_address AS contract, chain.*,
(SELECT k.token FROM chain_tokens k WHERE k.contract = p.contract_address AND NOT EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = k.contract AND a.state = 'quarantined')) AS token,
(SELECT k.minimum::text FROM chain_contracts k WHERE k.type = p.type AND k.address = p.contract_address) AS minimum,

coalesce((SELECT c.circles FROM chain_contracts c WHERE c.type = p.type::text AND c.address = p.contract_address), false) AS "holdsCircles",
t.account, t.status, t.amount::text, coalesce(
CASE WHEN t.status = 'PENDING' THEN (SELECT json_build_object('hash', s.hash, 'at', iso(s.at))
  FROM submissions s WHERE s.transaction_id = t.id) END IS NOT NULL, false) AS "isSubmitted", u.address = ($1::text) AS "isOwner", coalesce(head."isAtHead", false) AND NOT EXISTS (SELECT FROM chain_contracts_apart a WHERE a.address = p.contract_address) AS "isCurrent",
    c.circle_id AS "circleId", c.contribution::text, c.collateral::text,
    json_build_object('join', CASE WHEN m.account IS NULL THEN 'forbidden' WHEN m.joined_at IS NOT NULL THEN 'already_done'
  WHEN c.state <> 'JOINING' THEN 'wrong_circle_state' WHEN last.time > c.join_by THEN 'too_late' END, 'contribute', CASE WHEN m.account IS NULL THEN 'forbidden' WHEN c.state <> 'RUNNING' THEN 'wrong_circle_state'
  WHEN m.paid > 0 THEN 'already_done' WHEN last.time >= c.round_end THEN 'too_late' END, 'payout', CASE WHEN coalesce(m.won - m.paid_out, 0) = 0 THEN 'nothing_in_circle' END, 'refund', CASE WHEN c.state NOT IN ('COMPLETED', 'CANCELLED') THEN 'wrong_circle_state'
  WHEN coalesce(CASE WHEN c.state IN ('COMPLETED', 'CANCELLED') THEN m.collateral + m.paid - m.refunded ELSE 0 END, 0) = 0 THEN 'nothing_in_circle' END, 'endRound', CASE WHEN c.state <> 'RUNNING' THEN 'wrong_circle_state'
  WHEN r.paid_count = c.places OR last.time >= c.round_end THEN NULL ELSE 'too_early' END, 'cancel', CASE WHEN c.state <> 'JOINING' THEN 'wrong_circle_state'
  WHEN c.organiser = ($1::text) OR last.time > c.join_by THEN NULL ELSE 'too_early' END) AS refusals,
    coalesce(extract(epoch FROM last.time), 0)::float8 AS now
  FROM pools p JOIN users u ON u.id = p.owner_id
LEFT JOIN circles c ON c.pool_id = p.id AND c.contract = p.contract_address
LEFT JOIN circle_rounds r ON r.contract = c.contract AND r.circle_id = c.circle_id AND r.round = c.rounds_ended
LEFT JOIN circle_members m ON m.contract = c.contract AND m.circle_id = c.circle_id AND m.account = ($1::text)
LEFT JOIN (SELECT block_number AS number, block_time AS time FROM chain_cursor) last ON true
LEFT JOIN (SELECT chain_id AS "chainId" FROM chain_facts) chain ON true LEFT JOIN
(SELECT state = 'synced' AND applied_number >= head_number AND NOT (beat_at < now() - interval '15 seconds'
   OR progress_at < now() - interval '20 seconds') AS "isAtHead" FROM chain_cursor) head ON true
LEFT JOIN transactions t ON t.id = ($2::uuid) AND t.pool_id = p.id AND t.type = 'DEPOSIT'
  WHERE p.id = ($3::uuid);

-- src/extensions/circles/circles.sql.ts, on standbys where there are some
-- $1 caller text, $2 pool uuid
PREPARE pool_rounds AS
  SELECT p.type = 'rotating' AS "hasCircles", CASE WHEN (m.account IS NOT NULL OR (
EXISTS (SELECT FROM pool_members m WHERE m.pool_id = p.id AND m.address = ($1::text))
OR EXISTS (SELECT FROM positions o JOIN chain_contracts k ON k.pool_id = o.pool_id
  WHERE o.pool_id = p.id AND o.address = ($1::text)))) THEN json_build_object('poolId', p.id,
    'circle', CASE WHEN c.circle_id IS NOT NULL THEN json_build_object('circleId', c.circle_id, 'contract', c.contract, 'state', c.state, 'organiser', c.organiser,
'contribution', c.contribution::text, 'collateral', c.collateral::text, 'period', c.period, 'places', c.places,
'joinBy', iso(c.join_by), 'openedAt', iso(c.opened_at),
'currentRound', CASE c.state WHEN 'RUNNING' THEN c.rounds_ended END, 'roundEnd', iso(c.round_end),
'rounds', (SELECT json_agg(json_build_object('round', t.round, 'account', t.account, 'paidCount', t.paid_count, 'endsAt', iso(t.ends_at),
'pot', t.pot::text, 'endedAt', iso(t.ended_at)) ORDER BY t.round) FROM circle_rounds t
  WHERE t.contract = c.contract AND t.circle_id = c.circle_id),
'members', (SELECT json_agg(json_build_object('account', o.account, 'place', o.place, 'joinedAt', iso(o.joined_at),
'collateral', o.collateral::text, 'paid', o.paid > 0, 'missed', o.missed, 'received', o.paid_out::text) ORDER BY o.place) FROM circle_members o
  WHERE o.contract = c.contract AND o.circle_id = c.circle_id)) END,
    'mine', CASE WHEN m.account IS NOT NULL THEN json_build_object('place', m.place, 'joined', m.joined_at IS NOT NULL, 'collateral', m.collateral::text,
'paid', m.paid > 0, 'missed', m.missed, 'payout', (m.won - m.paid_out)::text, 'refund', (CASE WHEN c.state IN ('COMPLETED', 'CANCELLED') THEN m.collateral + m.paid - m.refunded ELSE 0 END)::text,
'received', (m.paid_out + m.refunded)::text) END,
    'can', array_remove(ARRAY[CASE WHEN c.circle_id IS NULL AND u.address = ($1::text) AND
coalesce((SELECT c.circles FROM chain_contracts c WHERE c.type = p.type::text AND c.address = p.contract_address), false) THEN 'open' END, CASE WHEN c.circle_id IS NOT NULL AND CASE WHEN m.account IS NULL THEN 'forbidden' WHEN m.joined_at IS NOT NULL THEN 'already_done'
  WHEN c.state <> 'JOINING' THEN 'wrong_circle_state' WHEN last.time > c.join_by THEN 'too_late' END IS NULL THEN 'join' END, CASE WHEN c.circle_id IS NOT NULL AND CASE WHEN m.account IS NULL THEN 'forbidden' WHEN c.state <> 'RUNNING' THEN 'wrong_circle_state'
  WHEN m.paid > 0 THEN 'already_done' WHEN last.time >= c.round_end THEN 'too_late' END IS NULL THEN 'contribute' END, CASE WHEN c.circle_id IS NOT NULL AND CASE WHEN coalesce(m.won - m.paid_out, 0) = 0 THEN 'nothing_in_circle' END IS NULL THEN 'payout' END, CASE WHEN c.circle_id IS NOT NULL AND CASE WHEN c.state NOT IN ('COMPLETED', 'CANCELLED') THEN 'wrong_circle_state'
  WHEN coalesce(CASE WHEN c.state IN ('COMPLETED', 'CANCELLED') THEN m.collateral + m.paid - m.refunded ELSE 0 END, 0) = 0 THEN 'nothing_in_circle' END IS NULL THEN 'refund' END, CASE WHEN c.circle_id IS NOT NULL AND CASE WHEN c.state <> 'RUNNING' THEN 'wrong_circle_state'
  WHEN r.paid_count = c.places OR last.time >= c.round_end THEN NULL ELSE 'too_early' END IS NULL THEN 'endRound' END, CASE WHEN c.circle_id IS NOT NULL AND CASE WHEN c.state <> 'JOINING' THEN 'wrong_circle_state'
  WHEN c.organiser = ($1::text) OR last.time > c.join_by THEN NULL ELSE 'too_early' END IS NULL THEN 'cancel' END], NULL))::text END AS data
  FROM pools p JOIN users u ON u.id = p.owner_id
LEFT JOIN circles c ON c.pool_id = p.id AND c.contract = p.contract_address
LEFT JOIN circle_rounds r ON r.contract = c.contract AND r.circle_id = c.circle_id AND r.round = c.rounds_ended
LEFT JOIN circle_members m ON m.contract = c.contract AND m.circle_id = c.circle_id AND m.account = ($1::text)
LEFT JOIN (SELECT block_number AS number, block_time AS time FROM chain_cursor) last ON true
  WHERE p.id = ($2::uuid);

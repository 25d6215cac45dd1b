import { TRANSACTION_TYPES } from '#values/types';
import { contractAbi } from '#ledger/chain/contract.abi';
import { circleAbi } from '#ledger/chain/rotating.abi';
import { TOPICS } from '#ledger/outbox/ledger-event';
import { CIRCLE_KINDS, DRAW_CHANGES } from '#indexer/ledger/decide';
import { MOVEMENTS } from '#indexer/reading/money';
import { PaperChain, SAVER, Written } from '../../support/chain/paper-chain';

const POOL = 'aaaaaaaa-0000-7000-8000-000000000001';
/** What only contracts of others say. */
const OF_OTHERS = ['PoolOpened'];
/** Events of draws that nobody is told of. */
const UNTOLD = ['PrizeFunded'];

const written = new Written();
beforeAll(async () => {
  await written.start(new PaperChain());
  await written.addPool(POOL);
});
afterAll(() => written.stop());

const kindsOf = (id: string): string[] =>
  [...contractAbi, ...circleAbi]
    .flatMap((item) => (item.type === 'event' && item.inputs[0].name === id ? [item.name] : []))
    .sort();

it('what happens on the chain is of a pool, a circle or a draw, and each has its row in a table', () => {
  expect(kindsOf('circleId')).toEqual(Object.keys(CIRCLE_KINDS).sort());
  expect([...kindsOf('poolId'), ...kindsOf('circleId'), ...OF_OTHERS].sort()).toEqual(
    Object.keys(MOVEMENTS).sort(),
  );
  expect(kindsOf('drawId')).toEqual(Object.keys(DRAW_CHANGES).sort());
  expect(kindsOf('poolId').length + kindsOf('drawId').length).toBe(
    contractAbi.filter(({ type }) => type === 'event').length,
  );
});

it('each event of a draw has a topic of its own, or is known to have none; an unknown one has none', async () => {
  const rows = await written.sql<{ kind: string; topic: string | null }>(
    'SELECT kind, draw_topic(kind) AS topic FROM unnest($1::text[]) AS kind',
    [kindsOf('drawId')],
  );
  const topics = rows.map(({ topic }) => topic).filter((topic) => topic !== null);
  expect(rows.filter(({ topic }) => topic === null).map(({ kind }) => kind)).toEqual(UNTOLD);
  expect(new Set(topics).size).toBe(topics.length);
  expect(TOPICS).toEqual(expect.arrayContaining(topics));
  expect(await written.sql(`SELECT draw_topic('Moved') AS topic`)).toEqual([{ topic: null }]);
});

it('each type of transaction has a topic of its own', async () => {
  await written.sql('DELETE FROM outbox');
  await written.sql(
    `INSERT INTO transactions (id, pool_id, type, status, account, amount, tx_hash, block_number, log_index, created_at,
       confirmed_at, owner_id, by_owner)
     SELECT gen_random_uuid(), p.id, t.type, 'CONFIRMED', $2, 1, '0x' || n, 7, n, now(), now(), p.owner_id, true
     FROM pools p CROSS JOIN unnest($3::text[]) WITH ORDINALITY AS t(type, n) WHERE p.id = $1`,
    [POOL, SAVER, TRANSACTION_TYPES],
  );
  const rows = await written.sql<{ items: { topic: string; transactionType: string }[] }>(
    'SELECT items FROM outbox',
  );
  const told = rows.flatMap(({ items }) => items);
  expect(told.map(({ transactionType }) => transactionType)).toEqual(TRANSACTION_TYPES);
  const topics = told.map(({ topic }) => topic);
  expect(new Set(topics).size).toBe(TRANSACTION_TYPES.length);
  expect(TOPICS).toEqual(expect.arrayContaining(topics));
});

it('those that set the stage of a draw are in its index', async () => {
  const [{ definition }] = await written.sql<{ definition: string }>(
    `SELECT pg_get_indexdef('chain_events_draw_stage_idx'::regclass) AS definition`,
  );
  const indexed = [...definition.matchAll(/'(\w+)'/g)].map(([, kind]) => kind);
  const staging = Object.entries(DRAW_CHANGES).flatMap(([kind, change]) =>
    change === 'stage' ? [kind] : [],
  );
  expect(indexed).toEqual(expect.arrayContaining(staging));
});

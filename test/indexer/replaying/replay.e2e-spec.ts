import { connect } from '#indexer/leading/leader';
import { DrawCorrection } from '#indexer/replaying/draw-correction';
import { REACH } from '#indexer/replaying/events.sql';
import { Replay, type ReplayReport } from '#indexer/replaying/replay';
import { LOTTERY } from '../../support/chain/paper-chain';
import { CASES } from '../../support/verify/verify-cases';
import { VerifyScene } from '../../support/verify/verify-scene';

const scene = new VerifyScene();
beforeAll(() => scene.start());
afterAll(() => scene.stop());
afterEach(() => scene.putBack());

const replay = (): Promise<ReplayReport> => new Replay(scene.written.databaseUrl, () => undefined).run();

const NOTHING = { corrected: [], refused: [] };
/** What was corrected. */
async function replayed(): Promise<{ corrected: string[]; refused: string[] }> {
  const { corrected, refused } = await replay();
  return { corrected: Object.entries(corrected).flatMap(([name, count]) => (count ? name : [])), refused };
}

it('changes nothing where nothing is wrong', async () => {
  expect(await replayed()).toEqual(NOTHING);
  expect(await scene.changed()).toEqual([]);
  expect(await replay()).toMatchObject({ events: 41 });
});

it('keeps the draws of a lottery that is followed no longer, or only for other types', async () => {
  await scene.corrupt(`DELETE FROM chain_contracts WHERE type = 'lottery'`);
  expect(await replayed()).toEqual(NOTHING);
  await scene.corrupt(`INSERT INTO chain_contracts VALUES ('individual', '${LOTTERY}', 0, 0)`);
  expect(await replayed()).toEqual(NOTHING);
  expect(await scene.changed()).toEqual(['chain_contracts']);
});

it('keeps the draws of a lottery that is followed since the replay began', async () => {
  const [client, reader] = [
    await connect(scene.written.databaseUrl),
    await connect(scene.written.databaseUrl),
  ];
  try {
    const { rows } = await client.query<{ effective: string }>(REACH);
    const draws = new DrawCorrection(client, reader, new Set());
    const { signal } = new AbortController();
    await draws.decide(Number(rows[0].effective), signal);
    await draws.make(signal);
    expect([draws.outcomes, draws.corrected, draws.refused]).toEqual([0, 0, []]);
  } finally {
    await Promise.all([client.end(), reader.end()]);
  }
  expect(await scene.changed()).toEqual([]);
});

it('makes the draws of a lottery by its events alone, if it is followed', async () => {
  await scene.corrupt(`UPDATE chain_events SET outcome = 'REFUSED', reason = 'not a lottery contract' WHERE draw_id IS NOT NULL;
    DELETE FROM lottery_draws; DELETE FROM lottery_tickets; UPDATE lottery_totals SET winners = 0`);
  expect((await replayed()).corrected).toEqual(expect.arrayContaining(['chain_events', 'draws']));
  expect(await scene.verify()).toMatchObject({ listed: [] });
  expect(await scene.sql('SELECT FROM lottery_draws')).toHaveLength(2);
});

/** What is made anew from the events. Other tables say what the chain, people or nodes said. */
const DERIVED = [
  'account_days',
  'accrual_rates',
  'chain_events.outcome',
  'chain_events.reason',
  'chain_events.transaction_id',
  'lottery_draws',
  'lottery_tickets',
  'lottery_totals',
  'member_counts',
  'member_streams',
  'owner_totals',
  'pool_totals',
  'pool_weights',
  'pools',
  'position_journal',
  'positions',
  'set_aside_counts',
  'transactions',
  'yield_accruals',
];
const GIVEN = [
  'pools.id',
  'pools.type',
  'pools.owner_id',
  'pools.contract_address',
  'transactions.requested_amount',
  // The chain's clock says which of those that nobody paid are expired.
  'transactions.status',
];
/** Of what was announced these are as the API wrote them. */
const ANNOUNCED = ['transactions.id', 'transactions.pool_id', 'transactions.account'];
/** A sum has a row for each writer, and those that are zero say nothing. */
const SUMS = ['account_days', 'owner_totals', 'member_counts', 'pool_totals', 'set_aside_counts'];

const cases = Object.entries(CASES).flatMap(([table, columns]) => {
  const statements = Object.entries(columns)
    .filter(([column]) => DERIVED.includes(table) || DERIVED.includes(`${table}.${column}`))
    .filter(([column]) => !GIVEN.includes(`${table}.${column}`))
    .map(
      ([column, [value, , where = 'true']]) => `UPDATE ${table} SET ${column} = ${value}
      WHERE ctid = (SELECT ctid FROM ${table} t WHERE (${where}) AND ${ANNOUNCED.includes(`${table}.${column}`) ? 'requested_amount IS NULL' : 'true'}
          AND (${column})::text IS DISTINCT FROM (${value})::text LIMIT 1)`,
    );
  return statements.length > 0 ? [{ table, statements }] : [];
});

it.each(cases)('makes every column of $table anew', async ({ table, statements }) => {
  const isTold = ['transactions', 'yield_accruals', 'chain_events'].includes(table);
  const follow = [...SUMS, 'position_journal', ...(isTold ? ['outbox'] : [])];
  for (const statement of statements) {
    await scene.corrupt(statement);
    expect([statement, await scene.changed()]).toEqual([statement, [table]]);
    const { corrected, refused } = await replayed();
    expect([statement, corrected.length > 0, refused]).toEqual([statement, true, []]);
    const left = (await scene.changed()).filter((name) => !follow.includes(name));
    expect([statement, left]).toEqual([statement, []]);
    if (statement !== statements.at(-1)) await scene.putBack();
  }
  // What was changed behind the triggers' back was never told, and is told as taken back.
  const { listed } = await scene.verify(false, scene.node);
  expect(listed.filter(({ kind }) => !isTold || !kind.startsWith('outbox.'))).toEqual([]);
  expect(await replayed()).toEqual(NOTHING);
});

import { Replay, type ReplayReport } from '#indexer/replaying/replay';
import { LOTTERY, NEW_LOTTERY } from './support/paper-chain';
import { CASES } from './support/verify-cases';
import { VerifyScene } from './support/verify-scene';

const scene = new VerifyScene();
beforeAll(() => scene.start());
afterAll(() => scene.stop());
afterEach(() => scene.putBack());

const replay = (): Promise<ReplayReport> =>
  new Replay(
    scene.written.databaseUrl,
    { POOL_CONTRACTS: new Map([['lottery', [LOTTERY, NEW_LOTTERY]]]) },
    () => undefined,
  ).run();

const NOTHING = { corrected: [], refused: [] };
async function replayed(): Promise<typeof NOTHING> {
  const { corrected, refused } = await replay();
  return { corrected: Object.entries(corrected).flatMap(([name, count]) => (count ? name : [])) as never[], refused: refused as never[] };
}

it('changes nothing where nothing is wrong', async () => {
  expect(await replayed()).toEqual(NOTHING);
  expect(await scene.changed()).toEqual([]);
  expect(await replay()).toMatchObject({ events: 24 });
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
const GIVEN = ['pools.id', 'pools.type', 'pools.owner_id', 'pools.contract_address', 'transactions.requested_amount'];
/** A sum has a row for each writer, and those that are zero say nothing. */
const SUMS = ['account_days', 'owner_totals', 'member_counts', 'pool_totals', 'set_aside_counts'];

const each = Object.entries(CASES).flatMap(([table, columns]) =>
  Object.entries(columns).map(([column, [value, , where = 'true']]) => ({
    column: `${table}.${column}`,
    table,
    statement: `UPDATE ${table} SET ${column} = ${value}
      WHERE ctid = (SELECT ctid FROM ${table} t WHERE (${where}) AND (${column})::text IS DISTINCT FROM (${value})::text LIMIT 1)`,
  })),
);

it.each(
  each.filter(
    ({ table, column }) => (DERIVED.includes(table) || DERIVED.includes(column)) && !GIVEN.includes(column),
  ),
)('makes $column anew', async ({ table, statement }) => {
  await scene.corrupt(statement);
  expect(await scene.changed()).toEqual([table]);
  const first = await replayed();
  expect(first.corrected).not.toEqual([]);
  expect(first.refused).toEqual([]);
  const told = ['transactions', 'yield_accruals', 'chain_events'].includes(table) ? ['outbox'] : [];
  const left = (await scene.changed()).filter((name) => ![...SUMS, ...told, 'position_journal'].includes(name));
  expect(left).toEqual([]);
  expect((await scene.verify(false, scene.node)).listed).toEqual([]);
  expect(await replayed()).toEqual(NOTHING);
});

import { CORRUPTIONS, isGiven, rounds } from '../support/verify/verify-cases';
import { CACHES, SUMS, VerifyScene } from '../support/verify/verify-scene';

/** What is counted and copied follows the rows of these, whatever they say. */
const COPIES = ['pools', 'transactions', 'pool_members'];
const FOLLOW: Record<string, string[]> = {
  transactions: COPIES,
  yield_accruals: COPIES,
  pools: COPIES,
  pool_members: COPIES,
  users: COPIES,
};

const scene = new VerifyScene();
beforeAll(() => scene.start());
afterAll(() => scene.stop());
afterEach(() => scene.putBack());

it.each(rounds(CORRUPTIONS.filter((each) => !isGiven(each))).map((round, i) => [i + 1, round] as const))(
  'names and repairs a derived column of each table, round %i',
  async (_, round) => {
    const kinds = await scene.repair(round.map(({ statement }) => statement));
    const missed = round.filter(({ kind }) => !kinds.some((found) => new RegExp(kind).test(found)));
    expect(missed.map(({ column }) => column)).toEqual([]);
  },
);

it.each(CORRUPTIONS.filter(isGiven))('names $column', async ({ table, kind, statement }) => {
  await scene.corrupt(statement);
  expect(await scene.changed()).toEqual([table]);
  const { listed, notChecked } = await scene.verify(true, scene.node);
  // Without a place on the chain there is nothing to ask a node for.
  if (table !== 'chain_cursor') expect(notChecked).toEqual([]);
  expect(listed.map((found) => found.kind)).toContainEqual(expect.stringMatching(kind));
  // What was right stays so: repair writes nothing else than what is wrong.
  const mayChange = [...SUMS, ...CACHES, ...(FOLLOW[table] ?? [])];
  const changed = await scene.changed();
  const repaired = listed.every((found) => found.repaired);
  expect(changed.filter((name) => !mayChange.includes(name) && (repaired || name !== table))).toEqual([]);
  if (repaired && changed.length > 0) expect((await scene.verify(false, scene.node)).listed).toEqual([]);
});

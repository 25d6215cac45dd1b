import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '#verify/checks/connection';
import { Findings } from '#verify/checks/findings';
import { LedgerComparison } from '#verify/checks/ledger';
import { CASES } from '../support/verify/verify-cases';
import { VerifyScene } from '../support/verify/verify-scene';

/** The tables and columns that `verify` leaves out, with the reasons. */
const LEFT_OUT = readFileSync(join(__dirname, '../../docs/verify-columns.md'), 'utf8')
  .split('## What is left out')[1]
  .split('\n')
  .flatMap((line) => /^\| `(\w+)`(?:: ((?:`\w+`(?:, )?)+))? +\| \S.* \|$/.exec(line) ?? [])
  .flatMap((_, i, parts) => (i % 3 === 0 ? [[parts[i + 1], parts[i + 2]]] : []))
  .flatMap(([table, columns]) =>
    columns ? columns.split(', ').map((column) => `${table}.${column.replaceAll('`', '')}`) : [table],
  );

/** Their rows follow from others, or are written anew, so a repair may write them in another way. */
const SUMS = ['account_days', 'owner_totals', 'member_counts', 'member_streams', 'pool_totals'];
/** Without them the indexer reads the blocks again, and takes blocks back by replaying. */
const CACHES = ['chain_blocks', 'position_journal'];
/** What is counted and copied follows the rows of these, whatever they say. What was told of a deposit is forgotten. */
const COPIES = ['pools', 'transactions', 'pool_members', 'submissions', 'outbox'];
const FOLLOW: Record<string, string[]> = {
  transactions: COPIES,
  yield_accruals: COPIES,
  pools: COPIES,
  pool_members: COPIES,
  users: COPIES,
  submissions: ['submissions', 'outbox'],
};

const scene = new VerifyScene();
beforeAll(() => scene.start());
afterAll(() => scene.stop());
afterEach(() => scene.putBack());

it('knows every column of every table, or the document says why not', async () => {
  const columns = await scene.columns();
  const cases = Object.entries(CASES).flatMap(([table, some]) =>
    Object.keys(some).map((column) => `${table}.${column}`),
  );
  const all = columns.map(({ table, column }) => `${table}.${column}`);
  const isLeftOut = (column: string): boolean =>
    LEFT_OUT.includes(column) || LEFT_OUT.includes(column.split('.')[0]);
  expect(all.filter((column) => isLeftOut(column) === cases.includes(column))).toEqual([]);
  const names = [...all, ...columns.map(({ table }) => table)];
  expect([...cases, ...LEFT_OUT].filter((name) => !names.includes(name))).toEqual([]);
});

it('finds nothing where nothing is wrong', async () => {
  expect(await scene.verify(true, scene.node)).toMatchObject({ complete: true, listed: [] });
  expect(await scene.changed()).toEqual([]);
});

it.each([1, 7, 41, 42, 100])(
  'goes over all 41 events, %i at once, and asks no more after fewer',
  async (limit) => {
    const client = await connect(scene.written.operatorUrl, false, 10_000);
    try {
      const findings = new Findings(10);
      const ledger = new LedgerComparison(client, findings, { repair: false });
      let batches = 0;
      let at: Awaited<ReturnType<typeof ledger.events>> = { contract: '', seq: '0' };
      for (; at; batches += 1) at = await ledger.events(at, limit);
      expect(findings.report()).toMatchObject({ checked: { events: 41 }, listed: [] });
      expect(batches).toBe(Math.floor(41 / limit) + 1);
    } finally {
      await client.end();
    }
  },
);

const each = Object.entries(CASES).flatMap(([table, columns]) =>
  Object.entries(columns).map(([column, [value, kind = `${table}.${column}`, where = 'true']]) => ({
    table,
    kind,
    column: `${table}.${column}`,
    statement: `UPDATE ${table} SET ${column} = ${value}
      WHERE ctid = (SELECT ctid FROM ${table} t WHERE (${where}) AND (${column})::text IS DISTINCT FROM (${value})::text LIMIT 1)`,
  })),
);

it.each(each)('names $column', async ({ table, kind, statement }) => {
  await scene.corrupt(statement);
  expect(await scene.changed()).toEqual([table]);
  const { listed, notChecked } = await scene.verify(true, scene.node);
  // Without a place on the chain there is nothing to ask a node for.
  if (table !== 'chain_cursor') expect(notChecked).toEqual([]);
  expect(listed.map((found) => found.kind)).toEqual(
    expect.arrayContaining([expect.stringMatching(`^(${kind})$`)]),
  );
  // What was right stays so: repair writes nothing else than what is wrong.
  const mayChange = [...SUMS, ...CACHES, ...(FOLLOW[table] ?? [])];
  const changed = await scene.changed();
  const mended = listed.every((found) => found.mended);
  expect(changed.filter((name) => !mayChange.includes(name) && (mended || name !== table))).toEqual([]);
  // Where nothing has changed, nothing is wrong: that is tested above.
  if (mended && changed.length > 0) expect((await scene.verify(false, scene.node)).listed).toEqual([]);
});

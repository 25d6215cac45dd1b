import type { VerifyReport } from '#verify/checks/findings';
import { VerifyScene } from '../support/verify/verify-scene';

const scene = new VerifyScene();
beforeAll(() => scene.start());
afterAll(() => scene.stop());
afterEach(() => scene.putBack());

const kinds = ({ differences }: VerifyReport): string[] => Object.keys(differences);
/** Tables of which repair may write rows in another way, with the same sums. */
const SUMS = ['account_days', 'owner_totals', 'pool_totals'];
const changed = async (): Promise<string[]> => (await scene.changed()).filter((name) => !SUMS.includes(name));
const SECOND = `interval '1 second'`;

it('names times of the ledger that are not those of the events, and derives only sums of their pools again', async () => {
  await scene.corrupt(`UPDATE yield_accruals SET accrued_at = accrued_at - ${SECOND};
    UPDATE transactions SET confirmed_at = NULL WHERE requested_amount IS NOT NULL AND status = 'CONFIRMED';
    UPDATE transactions SET confirmed_at = confirmed_at + ${SECOND} WHERE requested_amount IS NULL;
    UPDATE transactions SET created_at = now() WHERE type = 'YIELD_CLAIM'`);
  await scene.corrupt(`UPDATE positions SET balance = balance + 1 WHERE pool_id = '${scene.pool}'`);
  const before = await changed();
  const { listed, differences } = await scene.verify(true, scene.node);
  const [{ rows }] = await scene.sql<{ rows: number }>(
    `SELECT count(*)::int AS rows FROM transactions WHERE status = 'CONFIRMED'`,
  );
  expect(differences).toMatchObject({
    ...{ 'transactions.confirmed_at': rows, 'transactions.created_at': 1, 'yield_accruals.accrued_at': 2 },
  });
  const times = listed.filter(({ kind }) => /^(transactions|yield_accruals)\./.test(kind));
  expect(times.filter(({ repaired }) => repaired)).toEqual([]);
  expect((await changed()).filter((table) => !before.includes(table))).toEqual(['pools']);
});

it('forgets the time of a row that is not confirmed', async () => {
  await scene.corrupt(`UPDATE transactions SET confirmed_at = now() WHERE status = 'PENDING'`);
  const { listed } = await scene.verify(true);
  expect(listed).toEqual([expect.objectContaining({ kind: 'transactions.confirmed_at', repaired: true })]);
  expect(await changed()).toEqual([]);
});

it.each([
  [
    'the first events of a contract',
    `DELETE FROM chain_events WHERE kind = 'DrawOpened' AND seq = 1`,
    'chain_events.seq',
  ],
  [
    'a draw with all its events',
    `DELETE FROM chain_events WHERE draw_id = 1; DELETE FROM lottery_draws WHERE draw_id = 1;
     DELETE FROM lottery_tickets WHERE draw_id = 1; UPDATE lottery_totals SET winners = 0`,
    'outbox.items',
  ],
  [
    'all that a contract said',
    `DELETE FROM chain_events WHERE contract LIKE '0xd1%'; DELETE FROM lottery_draws; DELETE FROM lottery_tickets;
     UPDATE lottery_totals SET winners = 0`,
    'outbox.items',
  ],
  ['what was told', 'DELETE FROM outbox', 'outbox.items'],
  [
    'a payment, its event and the sums',
    `DELETE FROM chain_events WHERE amount = 33; DELETE FROM transactions WHERE amount = 33`,
    'outbox.items',
  ],
])('misses %s, without a node', async (_, statement, kind) => {
  await scene.corrupt(statement);
  const before = await changed();
  const report = await scene.verify(true);
  expect(kinds(report)).toContain(kind);
  const sums = ['pools', 'position_journal', 'member_counts', 'member_streams'];
  expect((await changed()).filter((table) => ![...before, ...sums].includes(table))).toEqual([]);
});

it.each([
  [
    'a ticket purchase',
    `UPDATE chain_events SET amount = amount + 1 WHERE kind = 'TicketsIssued' AND draw_id = 1`,
  ],
  ['a payout', `UPDATE chain_events SET account = '0x${'ee'.repeat(20)}' WHERE kind = 'DrawCompleted'`],
  ['the time of a deposit', `UPDATE chain_events SET block_time = block_time + ${SECOND} WHERE amount = 500`],
  ['the time of an accrual', `UPDATE chain_events SET block_time = block_time + ${SECOND} WHERE amount = 90`],
  [
    'the time of a block of the last ones',
    `UPDATE chain_blocks SET time = time - ${SECOND} WHERE number = 5`,
  ],
])('finds another event in %s, without a node, and leaves alone what is right', async (_, statement) => {
  await scene.corrupt(statement);
  const [table] = await changed();
  const { listed } = await scene.verify(true);
  expect(listed.some(({ kind }) => /^(chain_events|chain_blocks|outbox)\./.test(kind))).toBe(true);
  // Blocks that are gone are read again.
  expect((await changed()).filter((name) => name !== table && name !== 'chain_blocks')).toEqual([]);
});

it('does not miss what the outbox no longer keeps', async () => {
  await scene.corrupt(`UPDATE outbox_removed SET xid = '9', position = 9; DELETE FROM outbox;
    UPDATE chain_events SET block_time = block_time - interval '7 days'`);
  const found = kinds(await scene.verify());
  expect([found.includes('transactions.confirmed_at'), found.includes('outbox.items')]).toEqual([
    true,
    false,
  ]);
});

it('does not miss events of history, which were never published', async () => {
  await scene.corrupt('DELETE FROM outbox; UPDATE chain_cursor SET published_from = block_number');
  expect(kinds(await scene.verify())).toEqual(['outbox.items']);
  await scene.corrupt('UPDATE chain_cursor SET published_from = block_number + 1');
  expect(kinds(await scene.verify())).toEqual([]);
});

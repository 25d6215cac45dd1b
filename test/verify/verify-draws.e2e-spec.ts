import { Progress } from '#verify/progress';
import { Verification } from '#verify/verify';
import { GENESIS, LOTTERY, OTHER, PaperChain, SAVER, Written } from '../support/chain/paper-chain';

const chain = new PaperChain();
let written: Written;

beforeAll(async () => {
  const [won, cancelled] = ['1', '2'].map((drawId) => ({ contract: LOTTERY, drawId }));
  for (const draw of [won, cancelled])
    chain.add([
      { kind: 'DrawOpened', ...draw, amount: '5', drawTime: GENESIS },
      { kind: 'TicketsIssued', ...draw, account: SAVER, amount: '2' },
      { kind: 'PrizeFunded', ...draw, account: SAVER, amount: '10' },
      { kind: 'PrizeFunded', ...draw, account: OTHER, amount: '7' },
      { kind: 'DrawClosed', ...draw },
    ]);
  chain.add([
    { kind: 'DrawCompleted', ...won, account: SAVER, amount: '17' },
    { kind: 'PrizePaid', ...won, account: SAVER, amount: '17' },
    { kind: 'DrawCancelled', ...cancelled },
    { kind: 'Refunded', ...cancelled, account: OTHER, amount: '7' },
  ]);
  written = await new Written().start(chain);
  await written.apply(chain);
});
afterAll(() => written?.stop());

const verify = (repair: boolean): Promise<{ differences: Record<string, number> }> =>
  new Verification(
    { databaseUrl: written.operatorUrl, repair, limit: 10 },
    new Progress({ isTTY: false, write: () => true }),
    new AbortController().signal,
  ).run();

it.each([
  ['lottery_draws.paid', 'UPDATE lottery_draws SET paid = NOT paid'],
  ['lottery_draws.pick_block', 'UPDATE lottery_draws SET pick_block = pick_block + 1'],
  ['lottery_draws.participants', 'UPDATE lottery_draws SET participants = 2'],
  ['lottery_tickets.paid_in', 'UPDATE lottery_tickets SET paid_in = paid_in + 1'],
  ['lottery_tickets.refunded', 'UPDATE lottery_tickets SET refunded = paid_in - refunded'],
  ['lottery_tickets.paid_in', 'DELETE FROM lottery_tickets WHERE tickets = 0'],
])('%s is held against the events, and mended: %s', async (kind, statement) => {
  const before = await written.state();
  expect(before.tickets).toMatchObject([
    { account: OTHER, tickets: '0', paid_in: '7', refunded: '0' },
    { account: SAVER, tickets: '2', paid_in: '10', refunded: '0' },
    { account: OTHER, tickets: '0', paid_in: '7', refunded: '7' },
    { account: SAVER, tickets: '2', paid_in: '10', refunded: '0' },
  ]);
  expect(before.draws).toMatchObject([
    { status: 'COMPLETED', paid: true, pick_block: '2', participants: 1, prize_pool: '17' },
    { status: 'CANCELLED', paid: false, pick_block: '3', participants: 1, prize_pool: '17' },
  ]);
  expect((await verify(false)).differences).toEqual({});
  await written.sql(statement);
  expect(Object.keys((await verify(true)).differences)).toContain(kind);
  expect((await verify(false)).differences).toEqual({});
  expect(await written.state()).toEqual(before);
});

it('payouts are taken back with their blocks', async () => {
  const before = await written.state();
  await written.rewind(chain.blocks[2]);
  const after = await written.state();
  expect(after.draws).toMatchObject([
    { status: 'DRAWING', paid: false },
    { status: 'DRAWING', paid: false },
  ]);
  expect((after.tickets as { refunded: string }[]).map(({ refunded }) => refunded)).toEqual([
    '0',
    '0',
    '0',
    '0',
  ]);
  await written.apply(chain);
  expect(await written.state()).toEqual(before);
});

import type { Page } from 'playwright-core';
import { type Address, parseEther, toHex } from 'viem';
import { anvilRpc, execute, read } from '#dev/deploy';
import { useBrowser } from '../support/browser/browser';
import { looksGood } from '../support/browser/looks';
import { PageBench, dialog, done, enter, press } from '../support/browser/page-bench';
import type { TestWallet } from '../support/browser/test-wallet';

const THOUSAND = parseEther('1000');
const SHORT_DRAW_BLOCKS = 61;
const MANY_DRAWS = 105;

const browser = useBrowser();
const bench = new PageBench();
const rpc = (method: string, ...params: unknown[]): Promise<unknown> =>
  anvilRpc(bench.keeper, method, ...params);
beforeAll(() => bench.start());
afterEach(async () => {
  await bench.startIndexer();
  await rpc('evm_setAutomine', true);
});
afterAll(() => bench.stop());

async function signedIn(): Promise<{ page: Page; wallet: TestWallet }> {
  const wallet = await bench.richWallet(THOUSAND);
  const page = await browser.open(bench.dapp.url, { wallet });
  await enter(page);
  return { page, wallet };
}
const spent = async ({ account }: TestWallet): Promise<bigint> =>
  THOUSAND - (await bench.tokensOf(account.address));
describe('a draw', () => {
  const lottery = (): Address => bench.deployment.contracts.lottery;
  const current = (): Promise<bigint> => read<bigint>(bench.keeper, 'LotteryPool', lottery(), 'currentDraw');
  const call = (name: string, ...args: unknown[]): Promise<unknown> =>
    execute(bench.keeper, 'LotteryPool', lottery(), name, args);
  const mine = async (blocks: number): Promise<void> => {
    await rpc('anvil_setBlockTimestampInterval', 1);
    await rpc('anvil_mine', toHex(blocks));
    await rpc('anvil_removeBlockTimestampInterval');
  };
  const ACTIVE = 1;
  const endOpen = async (): Promise<void> => {
    const draw = await read<{ status: number }>(bench.keeper, 'LotteryPool', lottery(), 'drawOf', [
      await current(),
    ]);
    if (draw.status === ACTIVE) await call('cancelDraw', await current());
  };

  const open = async (price: string): Promise<void> => {
    await endOpen();
    const { timestamp } = await bench.keeper.getBlock();
    await call('openDraw', parseEther(price), timestamp + 86_400n);
  };

  it('that is closed has its winner picked by a button', async () => {
    const { page, wallet } = await signedIn();
    // As after two minutes without a block.
    await rpc('evm_increaseTime', 120);
    await press(page, 'Start a one-minute draw');
    await done(page, 'Buy tickets');
    await press(page, /^Buy for 1 /);
    await done(page, 'Good luck!');
    await page.locator('[data-field="tickets"]', { hasText: /^1$/ }).waitFor();
    await mine(SHORT_DRAW_BLOCKS);
    await call('closeDraw', await current());
    await mine(2);
    // No event tells of blocks.
    await press(page, 'Pick the winner');
    await done(page, 'The winner is picked');
    await page.getByRole('button', { name: 'Take 26 TEST' }).waitFor();
    await looksGood(page);
    await press(page, 'Take 26 TEST');
    await done(page, 'The prize is in your wallet.');
    expect(await spent(wallet)).toBe(-parseEther('25'));
  });

  it('costs what it cost, whatever the next one does', async () => {
    const { page } = await signedIn();
    // Not the price of a draw before it, which the page may still show.
    await open('4');
    await press(page, /^Buy for 4 /);
    await dialog(page, 'Good luck!');
    await open('2');
    await page.getByText('Buy for 2 TEST').waitFor();
    await dialog(page, 'You pay 4 TEST');
  });

  it('that its owner has left is cancelled by a button', async () => {
    const { page, wallet } = await signedIn();
    await open('3');
    await press(page, /^Buy for 3 /);
    await done(page, 'Good luck!');
    await rpc('evm_increaseTime', 9 * 86_400);
    await rpc('anvil_mine', '0x1');
    // A page that is loaded before that learns of it only with the next change.
    await bench.atHead();
    await page.reload();
    await press(page, 'Cancel the draw');
    await done(page, 'The draw is cancelled. Everyone can take back what they paid.');
    await press(page, 'Take back 3 TEST');
    await done(page, 'Your money is back in your wallet.');
    await page.getByText('Cancelled, refunded').waitFor();
    expect(await spent(wallet)).toBe(0n);
  });

  it('is listed among all of the saver, however many', async () => {
    const { page, wallet } = await signedIn();
    const values = [lottery().toLowerCase(), wallet.account.address.toLowerCase(), MANY_DRAWS];
    await bench.app.sql(
      `INSERT INTO lottery_draws (contract, draw_id, status, ticket_price, prize_pool, participants, total_tickets,
         draw_time) SELECT $1, 1000 + n, 'CANCELLED', 5, 800, 1, 10, now() FROM generate_series(1, $2::int) n`,
      [values[0], MANY_DRAWS],
    );
    await bench.app.sql(
      'INSERT INTO lottery_tickets SELECT $1, 1000 + n, $2, 1, 5, 5 FROM generate_series(1, $3::int) n',
      values,
    );
    await page.reload();
    await press(page, `Show all ${MANY_DRAWS} draws`);
    await page.locator('[data-draw="1001"]').waitFor();
    expect(await page.locator('[data-draw]').count()).toBe(MANY_DRAWS);
  });
});

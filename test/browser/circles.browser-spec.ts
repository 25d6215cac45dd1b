import { Module } from '@nestjs/common';
import type { Page } from 'playwright-core';
import { type Address, parseEther } from 'viem';
import { AccountSavings, abi } from '#ledger/adapters/examples/account-savings';
import { PoolContract } from '#ledger/adapters/pool-contract';
import { artifacts, connect, deploy, execute, fund, read, receiptOf } from '#dev/deploy';
import { DESKTOP, PHONE, type PageOptions, type WatchedPage, useBrowser } from '../support/browser/browser';
import { NO_REF } from '../support/chain/contracts';
import { looksGood } from '../support/browser/looks';
import { PageBench, done, enter, press } from '../support/browser/page-bench';
import { type TestWallet, injectWallet } from '../support/browser/test-wallet';

const THOUSAND = parseEther('1000');

/** Savings of which nobody has told the calls. */
@PoolContract({ name: 'untold', types: ['individual'], abi, poolsBy: 'account' })
class UntoldSavings extends AccountSavings {}

@Module({ providers: [UntoldSavings] })
class UntoldModule {}

const browser = useBrowser();
const bench = new PageBench();
/** Personal pools are in contracts that are not ours. */
let [untold, savings, vault]: Address[] = [];
beforeAll(() =>
  bench.start({}, async () => {
    const made: Address[] = [];
    const args = [bench.deployment.token];
    for (const contract of [artifacts.AccountSavings, artifacts.AccountSavings, artifacts.TestVault])
      made.push((await deploy(bench.keeper, contract, args)).address.toLowerCase() as Address);
    [untold, savings, vault] = made;
    const named = `individual:untold=${untold},individual:accounts+=${savings},individual:erc4626+=${vault}`;
    return { named, modules: [UntoldModule] };
  }),
);
afterAll(() => bench.stop());

async function signedIn(wallet: TestWallet, viewport: PageOptions['viewport']): Promise<WatchedPage> {
  const page = await browser.open(bench.dapp.url, { wallet, viewport });
  await enter(page);
  return page;
}
const shows = (page: Page, text: string | RegExp): Promise<void> =>
  page.locator('[data-pool]').getByText(text).first().waitFor();
/** What can be done in the circle, by the names of its buttons, but those of the local chain. */
const offers = (page: Page): Promise<string[]> =>
  page.locator('[data-pool] .actions button:not(.local)').allInnerTexts();
const look = async (...pages: Page[]): Promise<void> => {
  for (const page of pages) await looksGood(page);
};
const gained = async ({ account }: TestWallet): Promise<string> =>
  `${((await bench.tokensOf(account.address)) - THOUSAND) / 10n ** 18n}`;

it('a circle is lived through on the page: opened, joined, paid, missed, ended, and everyone has what is his', async () => {
  const [a, b, c] = [
    await bench.richWallet(THOUSAND),
    await bench.richWallet(THOUSAND),
    await bench.richWallet(THOUSAND),
  ];
  const first = await signedIn(a, DESKTOP);
  const second = await signedIn(b, PHONE);
  // The third has another page.
  const { rotating } = bench.deployment.contracts;
  const third = await connect(bench.anvil.url, c.account);
  await fund(third, bench.deployment.token, rotating, 0n);
  const byThird = (name: string, ...args: unknown[]) =>
    execute(third, 'RotatingPool', rotating, name, [1n, ...args]);

  await press(first, 'New pool');
  await first.getByText('Rotating', { exact: true }).click();
  await first.getByLabel('Each pays in a round').fill('10');
  await first.getByLabel('Members, one address a line').fill(`${b.account.address}\n${c.account.address}`);
  await press(first, 'Create the pool');
  const dialog = first.getByRole('dialog', { name: 'Open the circle' });
  await dialog.getByLabel('Each locks to join').fill('15');
  await dialog
    .getByText('It pays for one round that somebody does not pay; one more, and the circle ends.')
    .waitFor();
  await look(first, second);
  const order = dialog.getByLabel('Members in the order of their turns, one address a line');
  const named = await order.inputValue();
  await order.fill(`${named}\n${bench.keeper.account.address}`);
  await dialog.getByRole('button', { name: 'Open the circle' }).click();
  await dialog.getByText('is no member of this pool').waitFor();
  await order.fill([a, b, c].map(({ account }) => account.address).join('\n'));
  await shows(second, 'Its owner has not opened the circle yet.');
  await dialog.getByRole('button', { name: 'Open the circle' }).click();
  await done(first, 'The circle is open.');
  // By the event: nobody has loaded it again.
  for (const page of [first, second]) await shows(page, '0 of 3 joined');
  expect([await offers(first), await offers(second)]).toEqual([
    ['Join and lock 15 TEST', 'Cancel the circle'],
    ['Join and lock 15 TEST'],
  ]);

  await look(second);
  b.rejects = true;
  await press(second, 'Join and lock 15 TEST');
  await second.getByRole('dialog').getByText('You declined in the wallet.').waitFor();
  await press(second, 'Close');
  b.rejects = false;
  await press(second, 'Join and lock 15 TEST');
  await done(second, 'You are in.');
  await shows(first, '1 of 3 joined');

  // Left while the wallet is open, it is offered again, and there is one payment in the end.
  a.open = new Promise(() => undefined);
  await press(first, 'Join and lock 15 TEST');
  await first.getByText('Confirm in your wallet').waitFor();
  await first.reload();
  await press(first, 'Show the payment');
  a.open = undefined;
  await press(first, 'Ask the wallet again');
  await done(first, 'You are in.');
  const tab = await first.context().newPage();
  await injectWallet(tab, a);
  await tab.goto(bench.dapp.url);
  await enter(tab);
  await shows(tab, 'You have joined.');
  await byThird('join', NO_REF);
  for (const page of [first, second, tab]) await shows(page, 'Round 1 of 3');

  await press(first, 'Pay 10 TEST');
  await done(first, 'This round is paid.');
  await shows(tab, 'You have paid this round.');
  expect(await offers(tab)).toEqual([]);
  await press(second, 'Pay 10 TEST');
  await done(second, 'This round is paid.');
  await byThird('contribute', NO_REF);
  await shows(second, /all have paid\. Anyone may end the round, and the pot of 30 TEST/);
  await press(second, 'End the round');
  await done(second, 'The round is over.');
  await press(tab, 'Take 30 TEST');
  await done(tab, 'The pot is in your wallet.');
  await tab.close();
  expect(await gained(a)).toBe('5');

  for (const page of [first, second]) {
    await press(page, 'Pay 10 TEST');
    await done(page, 'This round is paid.');
  }
  await press(first, 'Let the time pass');
  await done(first, 'The time is over.');
  await press(first, 'End the round');
  await done(first, 'The round is over.');
  await shows(first, /Not paid, missed 1/);
  await shows(second, /missed 1/);
  await look(first, second);
  await shows(second, 'Your pot of 30 TEST waits for you.');
  await press(second, 'Take 30 TEST');
  await done(second, 'The pot is in your wallet.');

  await press(first, 'Let the time pass');
  await done(first, 'The time is over.');
  await press(first, 'End the round');
  await done(first, 'The round is over.');
  for (const page of [first, second]) {
    await shows(page, 'Ended early');
    await look(page);
    await press(page, 'Take back 15 TEST');
    await done(page, 'Your money is back in your wallet.');
    await page.getByRole('button', { name: 'Take back 15 TEST' }).waitFor({ state: 'hidden' });
    expect(await offers(page)).toEqual([]);
  }
  await byThird('claimRefund', NO_REF);
  expect(await Promise.all([a, b, c].map(gained))).toEqual(['10', '10', '-20']);
  expect(await read(bench.keeper, 'RotatingPool', rotating, 'totalOf', [1n])).toBe(0n);

  expect(await bench.differences()).toEqual([]);
});

it('a pool in a contract whose calls nobody has told shows what happens there, and has no button that cannot work', async () => {
  const wallet = await bench.richWallet(THOUSAND);
  const page = await signedIn(wallet, PHONE);
  await press(page, 'New pool');
  await page.getByLabel('First deposit').fill('25');
  await press(page, 'Create the pool');
  await shows(page, 'Pay in and take out there; here you see what comes of it.');
  expect(await offers(page)).toEqual(['Cancel the pool']);
  await look(page);
  const saver = await connect(bench.anvil.url, wallet.account);
  const call = async (functionName: string, amount: bigint): Promise<void> => {
    const hash = await saver.writeContract({
      abi: artifacts.AccountSavings.abi,
      address: untold,
      functionName,
      args: [amount],
    });
    expect((await receiptOf(saver, hash)).status).toBe('success');
  };
  await fund(saver, bench.deployment.token, untold, 0n);
  await call('save', parseEther('25'));
  await shows(page, 'Confirmed');
  await call('unsave', parseEther('10'));
  await page.locator('[data-field="held"]', { hasText: /^15$/ }).waitFor();
  await page.getByText('Withdrawal').waitFor();
  expect(await offers(page)).toEqual([]);
  expect(await gained(wallet)).toBe('-15');
  expect(await bench.differences()).toEqual([]);
});

async function payInto(page: Page, contract: Address): Promise<void> {
  await press(page, 'New pool');
  await page.getByLabel('Where').selectOption(contract);
  await page.getByLabel('First deposit').fill('40');
  await press(page, 'Create and pay');
  await done(page, '40 TEST have arrived.');
  await page.locator('[data-field="held"]', { hasText: /^40$/ }).waitFor();
}
async function takeOut(page: Page, amount: string): Promise<void> {
  await press(page, 'Withdraw');
  await page.getByLabel('Amount').fill(amount);
  await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
  await done(page, 'back in your wallet');
}

it('a pool in a vault is paid and taken out of with what it has earned, by the calls that the service builds', async () => {
  const wallet = await bench.richWallet(THOUSAND);
  const page = await signedIn(wallet, PHONE);
  await payInto(page, vault);
  expect(await offers(page)).toEqual(['Deposit', 'Withdraw']);
  await press(page, 'Add 5 % yield');
  await done(page, 'earned 5 %');
  await takeOut(page, '21');
  // Shares for it are rounded up, so half of them have cost a little more than half.
  await page.locator('[data-field="held"]', { hasText: /^19\.9+$/ }).waitFor();
  await page.getByText('Yield claimed').first().waitFor();
  expect(await gained(wallet)).toBe('-19');
  await look(page);
  expect(await bench.differences()).toEqual([]);
});

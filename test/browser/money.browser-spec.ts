import type { Page } from 'playwright-core';
import { parseEther } from 'viem';
import { anvilRpc } from '#dev/deploy';
import { until } from '../support/app';
import { type PageOptions, type WatchedPage, useBrowser } from '../support/browser/browser';
import { PageBench, dialog, done, enter, press } from '../support/browser/page-bench';
import { type TestWallet, changeAccount, changeChain, injectWallet } from '../support/browser/test-wallet';
import { type newWallet } from '../support/wallet';

const THOUSAND = parseEther('1000');

const browser = useBrowser();
const bench = new PageBench();
beforeAll(() => bench.start());
afterEach(async () => {
  await bench.startIndexer();
  await anvilRpc(bench.keeper, 'evm_setAutomine', true);
});
afterAll(() => bench.stop());

const richWallet = (fields?: Partial<TestWallet>): Promise<TestWallet> => bench.richWallet(THOUSAND, fields);
async function signedIn(wallet: TestWallet, options: PageOptions = {}): Promise<WatchedPage> {
  const page = await browser.open(bench.dapp.url, { wallet, ...options });
  await enter(page);
  return page;
}
const card = (page: Page, text: string | RegExp): Promise<void> =>
  page.locator('[data-pool]').getByText(text).waitFor();
/** Creates a pool, up to where the wallet is asked. */
async function newPool(page: Page, amount: string): Promise<void> {
  await press(page, 'New pool');
  await page.getByLabel('First deposit').fill(amount);
  await press(page, 'Create and pay');
}
/** What the chain has taken from the wallet. */
const spent = async ({ account }: TestWallet): Promise<bigint> =>
  THOUSAND - (await bench.tokensOf(account.address));
const sent = ({ asked }: TestWallet): number =>
  asked!.filter((method) => method === 'eth_sendTransaction').length;

describe('an amount', () => {
  it('is what it says by the locale: "10,5" is ten and a half in German', async () => {
    const wallet = await richWallet();
    const page = await signedIn(wallet, { locale: 'de-DE' });
    await press(page, 'New pool');
    await page.getByLabel('First deposit').fill('10,5');
    await dialog(page, 'You pay 10,5 TEST');
    await press(page, 'Create and pay');
    await dialog(page, '10,5 TEST have arrived.');
    expect(await spent(wallet)).toBe(parseEther('10.5'));
    await page.locator('[data-field="held"]', { hasText: /^10,5$/ }).waitFor();
  });

  it('is never guessed: "10,5" is refused in English, with what it can mean', async () => {
    const wallet = await richWallet();
    const page = await signedIn(wallet, { locale: 'en-US' });
    await newPool(page, '10,5');
    await dialog(page, 'Did you mean 10.5? Please write it so');
    const field = page.getByLabel('First deposit');
    await page.waitForFunction(`document.activeElement.id === '${await field.getAttribute('id')}'`);
    const ids = ((await field.getAttribute('aria-describedby')) ?? '').split(' ');
    const texts = await Promise.all(ids.map((id) => page.locator(`[id="${id}"]`).innerText()));
    expect(texts.join()).toContain('Did you mean 10.5');
    await field.fill('1,234');
    await dialog(page, 'You pay 1,234 TEST, not 1.234');
    expect([sent(wallet), await spent(wallet)]).toEqual([0, 0n]);
    expect(await page.locator('[data-pool]').count()).toBe(0);
  });
});

describe('a payment', () => {
  it('is not offered again while the indexer is behind: here, after a reload, on another device', async () => {
    const wallet = await richWallet();
    const page = await signedIn(wallet);
    await bench.stopIndexer();
    await newPool(page, '25');
    await dialog(page, 'The chain has it. The service is catching up');
    await press(page, 'Go on in the background');
    await card(page, 'Paid, not confirmed yet');
    const offers = page.getByRole('button', { name: /^Pay 25/ });
    expect(await offers.count()).toBe(0);
    await page.reload();
    await card(page, 'Paid, not confirmed yet');
    expect(await offers.count()).toBe(0);

    const other = await signedIn({ ...wallet });
    await card(other, 'Paid, not confirmed yet');
    expect(await other.getByRole('button', { name: /^Pay 25/ }).count()).toBe(0);
    await bench.startIndexer();
    await card(other, 'Confirmed');
    await card(page, 'Confirmed');
    expect(await spent(wallet)).toBe(parseEther('25'));
  });

  it('keeps its dialog until its outcome was seen, also if a tab is opened meanwhile', async () => {
    const wallet = await richWallet();
    const page = await signedIn(wallet);
    await newPool(page, '25');
    await done(page, '25 TEST have arrived.');
    await bench.stopIndexer();
    await press(page, 'Withdraw');
    await page.getByLabel('Amount').fill('10');
    await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
    await dialog(page, 'The chain has it. The service is catching up');

    const other = await page.context().newPage();
    await injectWallet(other, wallet);
    await other.goto(bench.dapp.url);
    await enter(other);
    const listed = other.locator('[data-payment="withdraw"]');
    await listed.getByText('The service is catching up').waitFor();
    await bench.startIndexer();
    await listed.getByText('10 TEST are back in your wallet.').waitFor();
    await done(page, '10 TEST are back in your wallet.');
    await listed.waitFor({ state: 'detached' });
  });

  it('is not made by another account of the wallet, and the page says so', async () => {
    const wallet = await richWallet();
    const page = await signedIn(wallet);
    const b = await richWallet();
    await changeAccount(page, wallet, b.account);
    await page.getByText(/Your wallet is on 0x.{4}….{4}, and you signed in as 0x/).waitFor();
    await newPool(page, '25');
    await page.getByRole('dialog').getByText('Nothing was sent.').waitFor();
    expect([sent(wallet), await spent(b)]).toEqual([0, 0n]);
    expect(await page.locator('[data-pool]').count()).toBe(0);
  });

  it('changes the chain of a wallet that does not know it, and says so before', async () => {
    const wallet = await richWallet({ chains: {} });
    const page = await signedIn(wallet);
    wallet.chains = { 1: undefined };
    await changeChain(page, wallet, 1);
    delete wallet.chains[bench.anvil.chainId];
    await page.getByText('It will be asked to change over to Local chain when you pay.').waitFor();
    await newPool(page, '25');
    await dialog(page, '25 TEST have arrived.');
    expect(wallet.asked).toContain('wallet_addEthereumChain');
    expect(await spent(wallet)).toBe(parseEther('25'));
  });

  it('asks a wallet that can batch once, and shows no step that it does not take', async () => {
    const wallet = await richWallet({ batches: true });
    const page = await signedIn(wallet);
    wallet.asked = [];
    await newPool(page, '25');
    await dialog(page, '25 TEST have arrived.');
    expect(wallet.asked.filter((method) => method !== 'eth_requestAccounts')).toEqual(['wallet_sendCalls']);
    const steps = await page.getByRole('dialog').locator('.steps li').allInnerTexts();
    expect(steps.map((step) => step.split('\n').find((line) => /\w{4}/.test(line)))).toEqual([
      'Allow and pay in one',
      'Confirmed by the service',
    ]);
  });
});

describe('a pool', () => {
  it('is not created if it could not be paid', async () => {
    const wallet = await richWallet();
    await anvilRpc(bench.keeper, 'anvil_setBalance', wallet.account.address, '0x0');
    const page = await signedIn(wallet);
    await newPool(page, '1001');
    await dialog(page, 'At most 1,000 TEST');
    await page.getByLabel('First deposit').fill('9.5');
    await press(page, 'Create and pay');
    await dialog(page, 'At least 10 TEST');
    await page.getByLabel('First deposit').fill('25');
    await press(page, 'Create and pay');
    await dialog(page, 'too little to pay the fee');
    await page.keyboard.press('Escape');
    expect(await page.locator('[data-pool]').count()).toBe(0);
  });

  it('is created once though the page is loaded again before the answer, and twice if the form is sent twice', async () => {
    const wallet = await richWallet();
    const page = await signedIn(wallet);
    wallet.rejects = true;
    const pools = async (): Promise<number> => {
      const owned = 'SELECT FROM pools JOIN users ON users.id = owner_id WHERE address = $1';
      return (await bench.app.sql(owned, [wallet.account.address.toLowerCase()])).length;
    };
    await page.route('**/api/pools', (route) => route.fetch(), { times: 1 });
    await newPool(page, '25');
    await until(async () => (await pools()) === 1);
    await page.reload();
    await page.getByText('Live', { exact: true }).waitFor();
    await newPool(page, '25');
    await done(page, 'You declined in the wallet.', 'Close');
    expect(await pools()).toBe(1);
    await newPool(page, '25');
    await done(page, 'You declined in the wallet.', 'Close');
    expect(await pools()).toBe(2);
  });

  it('of another saver is neither paid nor cancelled by its members', async () => {
    const wallet = await richWallet();
    const { app } = bench;
    const owner = await app.signIn();
    await app.createPool(owner, { type: 'cooperative', members: [wallet.account.address] });
    const member = await app.signIn(wallet.account as ReturnType<typeof newWallet>);
    // More than the page lists.
    for (let n = 0; n < 9; n++) await app.createPool(member);
    const page = await signedIn(wallet);
    const shared = page.locator('[data-pool]', { hasText: 'Waiting for its owner' });
    await shared.waitFor();
    expect(await shared.getByRole('button').count()).toBe(0);
    // It would find that the time for paying is not over.
    await bench.stopIndexer();
    await app.sql(`UPDATE transactions SET status = 'EXPIRED' WHERE account = $1`, [owner.address]);
    const expired = page.locator('[data-pool]', { hasText: 'Expired, not paid' });
    await expired.getByRole('button', { name: 'Deposit' }).waitFor();
    expect(await expired.getByRole('button').count()).toBe(1);
  });

  it('that was never paid can be cancelled', async () => {
    const wallet = await richWallet();
    const page = await signedIn(wallet);
    wallet.rejects = true;
    await newPool(page, '25');
    await done(page, 'You declined in the wallet.', 'Close');
    await press(page, 'Cancel the pool');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the pool' }).click();
    await done(page, 'The pool is gone.');
    await page.getByText('No pools yet').waitFor();
  });
});

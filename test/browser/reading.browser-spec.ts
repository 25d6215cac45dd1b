import type { Page } from 'playwright-core';
import { type Dapp, serveDapp } from '#dev/dapp';
import { TestApp } from '../support/app';
import { useBrowser } from '../support/browser/browser';
import { holdSweeps } from '../support/events/event-source';
import { Proxy } from '../support/network/proxy';
import { addTransaction } from '../support/ledger';
import { injectWallet } from '../support/browser/test-wallet';
import { newWallet } from '../support/wallet';

/** As operators have it. A test stays below it, until it means not to. */
const LIMIT = 100;

describe('what the example page reads', () => {
  const browser = useBrowser();
  let app: TestApp;
  /** Between page and service, which is as frozen while it holds what it carries. */
  let frost: Proxy;
  let dapp: Dapp;

  beforeEach(async () => {
    holdSweeps();
    app = new TestApp();
    await app.start({ NODE_ENV: 'development', RATE_LIMIT_GENERAL: String(LIMIT), RATE_LIMIT_AUTH: '1000' });
    await app.listen();
    frost = await Proxy.start(`http://127.0.0.1:${app.port}`);
    dapp = await serveDapp({ api: frost.url });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await dapp?.stop();
    await frost?.stop();
    await app.stop();
  });

  /** Paths that the page asks the service for, from now on. */
  function watch(page: Page): string[] {
    const asked: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.startsWith('/api/')) asked.push(pathname.slice('/api'.length));
    });
    return asked;
  }

  /** There is no chain here: the page gets the token of one. */
  async function prepare(page: Page): Promise<Page> {
    await page.route('**/api/config', async (route) => {
      const response = await route.fetch();
      const { data, ...rest } = (await response.json()) as { data: object };
      const token = { address: `0x${'1'.repeat(40)}`, symbol: 'TEST', decimals: 18 };
      await route.fulfill({ response, json: { ...rest, data: { ...data, token, chainId: 31_337 } } });
    });
    return page;
  }

  async function tab(
    account: ReturnType<typeof newWallet>,
    beside?: Page,
  ): Promise<{ page: Page; asked: string[] }> {
    const page = await prepare(beside ? await beside.context().newPage() : await browser.open('about:blank'));
    const asked = watch(page);
    await injectWallet(page, { account, chainId: 31_337 });
    await page.goto(dapp.url);
    await page.getByRole('button', { name: 'Connect Test wallet' }).click();
    await page.getByText('Live', { exact: true }).waitFor();
    return { page, asked };
  }

  it('can be loaded again where a new version has taken a file of it away, and goes on signed in', async () => {
    const page = await prepare(await browser.open('about:blank'));
    const gone = '**/assets/dashboard-*';
    await page.route(gone, (route) => route.fulfill({ status: 404 }));
    await injectWallet(page, { account: newWallet(), chainId: 31_337 });
    await page.goto(dapp.url);
    await page.getByRole('button', { name: 'Connect Test wallet' }).click();
    const again = page.getByRole('button', { name: 'Load it again' });
    await again.waitFor();
    await page.unroute(gone);
    await again.click();
    await page.getByText('Live', { exact: true }).waitFor();
  });

  it('is one call and one stream for all tabs, of which one reads what has changed', async () => {
    const account = newWallet();
    const saver = await app.signIn(account);
    const first = await tab(account);
    expect(first.asked).toEqual(['/config', '/auth/nonce', '/auth/verify', '/users/me/start', '/events']);
    const second = await tab(account, first.page);
    expect(second.asked).toEqual(['/config', '/auth/nonce', '/auth/verify']);

    const { id: poolId } = await app.createPool(saver);
    for (const { page } of [first, second]) await page.locator(`[data-pool="${poolId}"]`).waitFor();
    expect(first.asked.slice(5)).toEqual(['/users/me/start']);
    const deposit = { poolId, account: account.address.toLowerCase(), amount: '7000000000000000000' };
    for (let n = 1; n <= 3; n++) await addTransaction(app, deposit);
    for (const { page } of [first, second])
      await page.locator(`[data-pool="${poolId}"]`).getByText(/^21\b/).first().waitFor();
    expect(new Set(first.asked.slice(5))).toEqual(new Set(['/users/me/start']));
    expect(second.asked.length).toBe(3);

    // The tab that led is gone: the other goes on where it was.
    await first.page.close();
    await addTransaction(app, deposit);
    await second.page.locator(`[data-pool="${poolId}"]`).getByText(/^28\b/).first().waitFor();
    expect(new Set(second.asked.slice(3))).toEqual(new Set(['/events', '/users/me/start']));
  });

  it('goes on by itself after a service that was frozen, and says so meanwhile', async () => {
    const { page } = await tab(newWallet());
    frost.hold();
    const loaded = page.reload();
    await page.getByText('The service does not answer.').waitFor();
    frost.deliver();
    await loaded;
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByText('The service does not answer.').waitFor({ state: 'detached' });
  });

  it('beyond the limit waits in every tab, which says until when', async () => {
    const account = newWallet();
    const first = await tab(account);
    const second = await tab(account, first.page);
    // Another page of this machine uses up the rest.
    for (let status = 200; status !== 429;) status = (await fetch(`${dapp.url}/api/config`)).status;
    await first.page.reload();
    for (const { page } of [first, second])
      await page.getByText(/^Too many requests\. The page goes on at/).waitFor();
    const [asked, ofSecond] = [first.asked.length, second.asked.length];
    await second.page.reload();
    await second.page.getByText(/^Too many requests\. The page goes on at/).waitFor();
    expect(first.asked.length).toBe(asked);
    // A new page asks once before it knows.
    expect(second.asked.length).toBe(ofSecond + 1);
  });
});

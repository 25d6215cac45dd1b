import type { Page } from 'playwright-core';
import { formatEther, parseEther } from 'viem';
import { devKey } from '#dev/deploy';
import { PHONE, type WatchedPage, bePatient, useBrowser } from '../support/browser/browser';
import { PageBench, enter, press } from '../support/browser/page-bench';
import type { TestWallet } from '../support/browser/test-wallet';
import { newWallet } from '../support/wallet';

describe('the example page, with service, indexer and chain', () => {
  const browser = useBrowser();
  const bench = new PageBench();
  const { app } = bench;
  beforeAll(() => bench.start({ PUBLIC_STATISTICS: 'true' }));
  afterAll(() => bench.stop());

  const walletOf = (fields: Partial<TestWallet> = {}): TestWallet => ({
    account: newWallet(),
    chainId: bench.anvil.chainId,
    rpcUrl: bench.anvil.url,
    ...fields,
  });
  const open = (options?: Parameters<typeof browser.open>[1]): Promise<WatchedPage> =>
    browser.open(bench.dapp.url, options);
  /** Waits for what came of a job, and closes its dialog. */
  const done = async (page: Page, result: string | RegExp): Promise<void> => {
    await page.getByRole('dialog').getByText(result).waitFor();
    await press(page, 'Done');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  };
  const field = (page: Page, name: string, hasText?: RegExp): ReturnType<Page['locator']> =>
    page.locator(`[data-field="${name}"]`, { hasText });
  /**
   * What goes wrong in it. The test wallet of the page sends to the chain, and there may be no open draw. A request is
   * aborted by the page alone: the stream at a reload, a read whose answer nobody wants any more.
   */
  const faults = ({ complaints }: WatchedPage): string[] =>
    complaints.filter(
      (each) =>
        !each.startsWith(`elsewhere: ${bench.anvil.url}`) &&
        !/status of 404 \(Not Found\)$|ERR_ABORTED$/.test(each),
    );
  /** Addresses of answers with an error. */
  const failures = (page: Page): string[] => {
    const urls: string[] = [];
    page.on('response', (answer) => {
      if (answer.status() >= 400) urls.push(`${answer.status()} ${new URL(answer.url()).pathname}`);
    });
    return urls;
  };

  it('goes the whole way with a wallet', async () => {
    const wallet = walletOf();
    const { address } = wallet.account;
    const page = await open({ wallet });
    const failed = failures(page);
    await press(page, 'Connect Test wallet');
    await press(page, 'Get 1,000 more');
    await done(page, 'in your wallet');
    expect(await bench.tokensOf(address)).toBe(parseEther('1000'));

    await press(page, 'New pool');
    await page.getByText('Cooperative').click();
    await page.getByLabel('First deposit').fill('40');
    await page.getByLabel('Members, one address a line').fill(newWallet().address);
    await press(page, 'Create and pay');
    await done(page, '40 TEST have arrived.');
    await page.getByText('2 savers').waitFor();
    await field(page, 'held', /^40$/).waitFor();
    expect(await bench.tokensOf(address)).toBe(parseEther('960'));
    const [{ status }] = await app.sql<{ status: string }>(
      'SELECT status FROM transactions WHERE account = $1',
      [address.toLowerCase()],
    );
    expect(status).toBe('CONFIRMED');

    await press(page, 'Add 5 % yield');
    await done(page, 'earned 5 %');
    await press(page, 'Claim');
    await done(page, 'The yield is in your wallet.');
    await page.getByText('Yield claimed').first().waitFor();
    await field(page, 'claimable', /^0$/).waitFor();
    const claimed = await bench.tokensOf(address);
    expect(claimed).toBeGreaterThan(parseEther('961.9'));

    await press(page, 'Withdraw');
    await page.getByLabel('Amount').fill('41');
    await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
    await page.getByText('At most 40 TEST').first().waitFor();
    await page.getByLabel('Amount').fill('15.5');
    await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
    await done(page, 'back in your wallet');
    await field(page, 'held', /^24\.5$/).waitFor();
    expect(await bench.tokensOf(address)).toBe(claimed + parseEther('15.5'));

    await press(page, 'Start a one-minute draw');
    await done(page, 'Buy tickets');
    await page.getByLabel('Number of tickets').fill('3');
    await press(page, 'Buy for 3 TEST');
    await done(page, 'Good luck!');
    await field(page, 'tickets', /^3$/).waitFor();
    await bePatient(page);
    await press(page, 'End the draw now');
    await done(page, 'You have won 28 TEST!');
    await press(page, 'Take 28 TEST');
    await done(page, 'The prize is in your wallet.');
    await page.getByText('Won 28 TEST, paid').waitFor();
    expect(await bench.tokensOf(address)).toBe(claimed + parseEther('15.5') + parseEther('25'));

    await page.reload();
    await field(page, 'held').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(faults(page)).toEqual([]);
    expect(failed.filter((each) => each !== '404 /api/lottery/current')).toEqual([]);
  });

  it('is enough without a wallet, and with the keyboard alone', async () => {
    const page = await open({ viewport: PHONE });
    const focused = (): Promise<string> =>
      page.evaluate('document.activeElement.innerText || document.activeElement.ariaLabel || ""');
    const goTo = async (name: string): Promise<void> => {
      await page.getByRole('button', { name, exact: true }).first().waitFor();
      for (let tabs = 0; (await focused()).trim() !== name; tabs++) {
        if (tabs > 60) throw new Error(`Tab does not reach ${name}`);
        await page.keyboard.press('Tab');
      }
    };
    const enter = async (name: string): Promise<void> => {
      await goTo(name);
      await page.keyboard.press('Enter');
    };
    await enter('Try without a wallet');
    await enter('New pool');
    await page.getByRole('dialog').waitFor();
    await goTo('Create and pay');
    // One back is the check box, two the amount.
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('30');
    await page.keyboard.press('Enter');
    await page.getByText('30 TEST have arrived.').waitFor();
    // What ends a job has the focus.
    await page.waitForFunction('document.activeElement.innerText === "Done"');
    await page.keyboard.press('Enter');
    await enter('Deposit');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('2');
    await page.keyboard.press('Enter');
    await page.getByText('2 TEST have arrived.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await field(page, 'held', /^32$/).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width);
    expect(await bench.tokensOf(devKey().address)).toBe(parseEther('968'));
    expect(faults(page)).toEqual([]);
  });

  it('says by its code why nobody was signed in', async () => {
    const page = await open({ wallet: walletOf({ rejects: true }) });
    await press(page, 'Connect Test wallet');
    const problem = page.getByRole('alert');
    await problem.getByText('You declined in the wallet.').waitFor();
    expect(await problem.locator('code').innerText()).toBe('wallet_rejected');
    expect(faults(page)).toEqual([]);
  });

  it('ends with the session', async () => {
    const page = await open({ wallet: walletOf() });
    await enter(page);
    const answered = page.waitForResponse((response) => response.url().endsWith('/users/me/logout'));
    await press(page, 'Sign out');
    expect((await answered).status()).toBe(200);
    await page.reload();
    await page.getByRole('button', { name: 'Connect Test wallet' }).waitFor();
  });

  it('shows a visitor the figures that the operator made public', async () => {
    const page = await open();
    const figures = page.getByLabel('The service in figures');
    await figures.waitFor();
    const { data } = (await (await fetch(`${bench.dapp.url}/api/analytics/pools`)).json()) as {
      data: { totalPools: number; totalDeposits: string; pendingDeposits: string };
    };
    const paid = formatEther(BigInt(data.totalDeposits) - BigInt(data.pendingDeposits));
    const text = (await figures.innerText()).replace(/\s+/g, ' ');
    expect(text).toContain(`Paid into pools so far ${paid} TEST Pools ${data.totalPools} Average APR`);
    expect(faults(page)).toEqual([]);
  });

  it('offers no key of its own where the service names no local chain', async () => {
    const page = await open();
    await page.route('**/api/config', async (route) => {
      const response = await route.fetch();
      const { data, ...rest } = (await response.json()) as { data: { rpcUrl?: string } };
      delete data.rpcUrl;
      await route.fulfill({ response, json: { ...rest, data } });
    });
    await page.reload();
    await page.getByText('No wallet was found in this browser.').waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
  });

  it('runs no script but its own', async () => {
    const answer = await fetch(bench.dapp.url);
    const policy = answer.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).toContain(`connect-src 'self' ${bench.anvil.url};`);
    expect(await answer.text()).not.toMatch(/<script>|<style|\son\w+=|style=/);
    for (const path of ['/package.json', '/../package.json', '/src/main.tsx', '/api-docs'])
      expect((await fetch(`${bench.dapp.url}${path}`)).status).toBe(404);
  });
});

import { parseEther } from 'viem';
import { DESKTOP, PHONE, type WatchedPage, useBrowser } from '../support/browser/browser';
import { NO_FAULTS, faultsOf, shiftOf, watchShifts } from '../support/browser/looks';
import { PageBench } from '../support/browser/page-bench';

const MOST_SHIFT = 0.1;
/** A shift that comes this late after an input counts as unasked for. */
const NOT_RECENT_MS = 600;

const browser = useBrowser();
const bench = new PageBench();
beforeAll(() => bench.start());
afterAll(() => bench.stop());

const settled = (page: WatchedPage): Promise<void> => page.waitForTimeout(NOT_RECENT_MS);

describe.each([
  ['a desktop', DESKTOP],
  ['a tablet', { width: 768, height: 1024 }],
  ['a phone', PHONE],
])('on %s', (_, viewport) => {
  it.each(['light', 'dark'])('the page can be read, pressed and heard, %s', async (scheme) => {
    // It takes as long as people do, so that no shift is excused by the click before it.
    const late = { then: (done: () => void) => setTimeout(done, NOT_RECENT_MS) };
    const wallet = await bench.richWallet(parseEther('1000'), { open: late as unknown as Promise<void> });
    const page = await browser.open('about:blank', { viewport, wallet, dark: scheme === 'dark' });
    await watchShifts(page);
    await page.goto(bench.dapp.url);
    const press = (name: string | RegExp): Promise<void> =>
      page
        .getByRole('button', { name, exact: typeof name === 'string' })
        .first()
        .click();
    const found: Record<string, unknown> = {};
    const look = async (where: string): Promise<void> => void (found[where] = await faultsOf(page));

    await page.getByRole('button', { name: 'Connect Test wallet' }).waitFor();
    await look('welcome');
    await press('Connect Test wallet');
    await page.getByText('No pools yet').waitFor();
    await page.waitForFunction('document.activeElement.tagName === "H1"');
    await look('empty');
    await press('New pool');
    await page.getByText('Cooperative').click();
    await page.getByLabel('First deposit').fill('10,5');
    await page.getByLabel(/^Members/).fill('me');
    await press('Create and pay');
    await page.getByText('is not an address').waitFor();
    await look('a form with faults');
    await page.getByLabel('First deposit').fill('25');
    await page.getByLabel(/^Members/).fill('');
    wallet.open = new Promise(() => undefined);
    await press('Create and pay');
    await page.getByText('Confirm in your wallet').waitFor();
    await look('the wallet is open');
    await press('Go on in the background');
    await page.getByText('Payment under way').waitFor();
    await look('under way');
    wallet.open = late as unknown as Promise<void>;
    await press('Show the payment');
    await press('Cancel');
    await page.getByText('decline it there').waitFor();
    await press('Close');
    await press('Pay 25 TEST');
    await page.getByText('25 TEST have arrived.').waitFor();
    await settled(page);
    await look('arrived');
    await press('Done');
    await settled(page);
    await look('a pool');
    expect(found).toEqual(Object.fromEntries(Object.keys(found).map((where) => [where, NO_FAULTS])));
    expect(await shiftOf(page)).toBeLessThan(MOST_SHIFT);

    await page.reload();
    await page.getByText('Live', { exact: true }).waitFor();
    await settled(page);
    expect(await shiftOf(page)).toBeLessThan(MOST_SHIFT);
  });
});

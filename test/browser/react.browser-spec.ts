import { parseEther } from 'viem';
import path from 'node:path';
import { type Dapp, serveDapp } from '#dev/dapp';
import { until } from '../support/app';
import { useBrowser } from '../support/browser/browser';
import { PageBench, press } from '../support/browser/page-bench';

const browser = useBrowser();
const bench = new PageBench();
let site: Dapp;
beforeAll(async () => {
  await bench.start();
  const folder = path.join(__dirname, '../support/browser/react-page');
  site = await serveDapp({ api: `http://127.0.0.1:${bench.app.port}`, rpcUrl: bench.anvil.url, folder });
});
afterAll(async () => {
  await site?.stop();
  await bench.stop();
});

it('the hooks pay, read again what events change, page through lists, and take over from a server', async () => {
  const page = await browser.open(site.url, { wallet: await bench.richWallet(parseEther('100')) });
  await press(page, 'Sign in');
  await page.getByText('live, no payment, no error').waitFor();
  await press(page, 'Create');
  await page.getByText('live, done, no error').waitFor();
  await page.getByText('0 to pay', { exact: true }).waitFor();

  await press(page, 'Create');
  await press(page, 'More');
  await page.getByText('live, done, no error').waitFor();
  await page.locator('li').nth(1).waitFor();
  await press(page, 'Fail');
  await page.getByText('live, failed, not_found').waitFor();

  await press(page, 'Both');
  await until(async () => (await page.title()) === 'paid');
  await page.getByText('live, failed, not_found').waitFor();

  await page.reload();
  await page.getByText('live, no payment, no error').waitFor();
  expect(await page.title()).toBe('React');
});

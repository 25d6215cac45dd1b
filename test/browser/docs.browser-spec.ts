import { useApp } from '../support/app';
import { useBrowser } from '../support/browser';
import { newWallet } from '../support/wallet';

describe('/docs in a browser', () => {
  const app = useApp();
  const browser = useBrowser();
  const wallet = { account: newWallet(), chainId: 31337 };
  beforeAll(() => app.listen());

  it('loads without an error, and nothing from elsewhere', async () => {
    const page = await browser.open(`http://127.0.0.1:${app.port}/docs`, { wallet });
    await page.getByText('Pooled savings service').first().waitFor();
    await page.getByText('/pools', { exact: true }).first().waitFor();
    expect(page.complaints).toEqual([]);
  });
});

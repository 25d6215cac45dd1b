import { source } from 'axe-core';
import { createServer, request as ask } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getAddress } from 'viem';
import { useApp } from '../support/app';
import { PHONE, type WatchedPage, useBrowser } from '../support/browser/browser';
import type { TestWallet } from '../support/browser/test-wallet';
import { newWallet } from '../support/wallet';

const wallet = (fields: Partial<TestWallet> = {}): TestWallet => ({
  account: newWallet(),
  chainId: 31337,
  ...fields,
});

const signIn = async (page: WatchedPage): Promise<void> => {
  await page.getByRole('button', { name: 'Sign in with wallet' }).click();
};

/** The page shows it with a checksum, however the wallet writes it. */
async function isSignedIn(page: WatchedPage, { account }: TestWallet): Promise<void> {
  const address = getAddress(account.address);
  await page.getByText(`Signed in as ${address.slice(0, 6)}…${address.slice(-4)}`).waitFor();
  expect(await page.locator('#status').getAttribute('title')).toBe(address);
}

/** Opens an operation, sends what stands there, and gives the status of the answer. */
async function tryIt(page: WatchedPage, id: string): Promise<string> {
  const operation = page.locator(`[id="operations-${id}"]`);
  await operation.locator('.opblock-summary-control').click();
  await operation.getByRole('button', { name: 'Execute' }).click();
  const status = operation.locator('.live-responses-table .response-col_status').nth(1);
  return (await status.innerText()).trim().split(/\s/)[0];
}

describe('/docs in a browser', () => {
  const app = useApp();
  const browser = useBrowser();
  beforeAll(async () => {
    await app.listen();
    // The page repeats nothing, and the first connection to the database may take longer than a request.
    await app.nonce();
  });
  const url = (path = '/docs'): string => `http://127.0.0.1:${app.port}${path}`;
  const stored = ({ account }: TestWallet): Promise<object[]> =>
    app.sql('SELECT FROM users WHERE address = $1', [account.address.toLowerCase()]);

  it('signs in with a wallet, then requests are answered; signing out ends the session', async () => {
    const user = wallet();
    const page = await browser.open(url('/'), { wallet: user });
    await signIn(page);
    await isSignedIn(page, user);
    expect(await tryIt(page, 'Pools-pools_create')).toBe('201');
    expect(await stored(user)).toHaveLength(1);
    const answered = page.waitForResponse((response) => response.url().endsWith('/users/me/logout'));
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    expect((await answered).status()).toBe(200);
    await page.getByText('Signed out.').waitFor();
    expect(page.complaints).toEqual([]);
    expect(await tryIt(page, 'Pools-pools_list')).toBe('401');
  });

  it('says that the user declined', async () => {
    const page = await browser.open(url(), { wallet: wallet({ rejects: true }) });
    await signIn(page);
    await page.getByText('You declined in the wallet.').waitFor();
    expect(await page.getByRole('button', { name: 'Sign in with wallet' }).isEnabled()).toBe(true);
    expect(page.complaints).toEqual([]);
  });

  it('says that there is no wallet, has nothing critical for axe, light and dark as the system, and fits a phone', async () => {
    const page = await browser.open(url());
    await signIn(page);
    await page.getByText('No wallet found in this browser').waitFor();
    await page.getByText('Create a pool').waitFor();
    await page.locator('[id="operations-Pools-pools_create"] .opblock-summary-control').click();
    await page.getByRole('button', { name: 'Execute' }).waitFor();
    await page.evaluate(source);
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      const { light, findings } = await page.evaluate<{ light: boolean; findings: string[] }>(`(async () => {
        const { violations } = await axe.run(document, { resultTypes: ['violations'] });
        const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
        return {
          light: red + green + blue > 3 * 128,
          findings: violations
            .filter(({ impact }) => impact === 'critical')
            .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | ')),
        };
      })()`);
      expect([light, findings]).toEqual([scheme === 'light', []]);
    }
    await page.setViewportSize(PHONE);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width);
    expect(page.complaints).toEqual([]);
  });

  it('works behind a prefix that a proxy takes away, with a wallet that gives its address in lower case', async () => {
    const proxy = createServer((incoming, outgoing) => {
      const { method, headers } = incoming;
      const path = incoming.url!.replace(/^\/savings/, '');
      const passed = ask({ port: app.port, method, path, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(passed);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = proxy.address() as AddressInfo;
      const user = wallet({ lowerCase: true });
      const page = await browser.open(`http://127.0.0.1:${port}/savings/`, { wallet: user });
      await signIn(page);
      await isSignedIn(page, user);
      expect(await tryIt(page, 'Pools-pools_list')).toBe('200');
      expect(await tryIt(page, 'Pools-pools_create')).toBe('201');
      expect(await stored(user)).toHaveLength(1);
      expect(page.complaints).toEqual([]);
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });
});

describe('/docs of a service with rules for sign-in', () => {
  const browser = useBrowser();
  const other = useApp({ SIWE_DOMAINS: 'app.example.org' });
  const chained = useApp({ CHAIN_ID: '8453' });
  beforeAll(() => Promise.all([other.listen(), chained.listen(), chained.nonce()]));

  it('says which hosts may sign in', async () => {
    const page = await browser.open(`http://127.0.0.1:${other.port}/docs`, { wallet: wallet() });
    await signIn(page);
    await page.getByText('accepts sign-in on app.example.org only').waitFor();
    expect(page.complaints).toEqual([]);
  });

  it('names the chain of the service, whichever the wallet is on', async () => {
    const page = await browser.open(`http://127.0.0.1:${chained.port}/docs`, {
      wallet: wallet({ chainId: 1 }),
    });
    await signIn(page);
    await page.getByText('Signed in as').waitFor();
    expect(page.complaints).toEqual([]);
  });
});

import { type Browser, type BrowserContext, type Page, chromium } from 'playwright-core';
import { findChromium } from './chromium.js';
import { type TestWallet, injectWallet } from './test-wallet';

export interface PageOptions {
  wallet?: TestWallet;
  viewport?: { width: number; height: number };
  /** Of the browser's user, such as `de-DE`. */
  locale?: string;
  dark?: boolean;
}

/** For what the page is to show, and for the many waits of a test. It takes much less, but on a busy machine. */
const WAIT_MS = 110_000;
const TEST_MS = 400_000;

export const PHONE = { width: 390, height: 844 };
export const DESKTOP = { width: 1280, height: 900 };

/** A browser page that keeps what goes wrong in it. */
export interface WatchedPage extends Page {
  /** Errors and warnings of the console, exceptions, and requests that were refused or went to another host. */
  readonly complaints: string[];
}

/** A browser for the tests of a file; each `open` is a fresh profile. */
export function useBrowser(): { open: (url: string, options?: PageOptions) => Promise<WatchedPage> } {
  let browser: Browser | undefined;
  const contexts: BrowserContext[] = [];
  jest.setTimeout(TEST_MS);
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: findChromium(),
      // It shows only what the tests serve, and root has no sandbox.
      chromiumSandbox: false,
      args: ['--disable-gpu', '--disable-quic', '--disable-dev-shm-usage'],
    });
  });
  afterEach(() => Promise.all(contexts.splice(0).map((context) => context.close())));
  afterAll(() => browser?.close());
  return {
    async open(url, { wallet, viewport = DESKTOP, locale, dark = false } = {}) {
      const colorScheme = dark ? 'dark' : 'light';
      const context = await browser!.newContext({ viewport, locale, colorScheme, permissions: [] });
      contexts.push(context);
      context.setDefaultTimeout(WAIT_MS);
      const page = watch(await context.newPage(), new URL(url).host);
      if (wallet) await injectWallet(page, wallet);
      await page.goto(url);
      return page;
    },
  };
}

/** From now on the page waits ten times as long for what it gives up soon, as a busy machine needs. */
export const bePatient = (page: Page): Promise<void> =>
  page.evaluate(`{
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    AbortSignal.timeout = (ms) => timeout(10 * ms);
  }`);

function watch(page: Page, host: string): WatchedPage {
  const complaints: string[] = [];
  page.on('console', (line) => {
    if (['error', 'warning'].includes(line.type())) complaints.push(`${line.type()}: ${line.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`));
  page.on('requestfailed', (request) =>
    complaints.push(`failed: ${request.url()} ${request.failure()?.errorText}`),
  );
  page.on('request', (request) => {
    const { protocol, host: asked } = new URL(request.url());
    if (/^(https?|wss?):/.test(protocol) && asked !== host) complaints.push(`elsewhere: ${request.url()}`);
  });
  return Object.assign(page, { complaints });
}

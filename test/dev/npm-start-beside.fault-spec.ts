import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { createSiweMessage } from 'viem/siwe';
import { until } from '../support/app';
import { eventually } from '../support/chain/chain-bench';
import { type Operation, readDocument } from '../support/openapi';

const ROOT = path.join(__dirname, '../..');
const LOCAL = 'dist/src/dev/local.js';

/** `npm start` in a folder, without npm and the build. */
class Start {
  output = '';
  private readonly process: ChildProcess;
  readonly ended: Promise<number | null>;

  constructor(folder: string, settings: NodeJS.ProcessEnv = {}) {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...settings };
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    this.process = spawn(process.execPath, [LOCAL], { cwd: folder, env, stdio: [...stdio] });
    for (const stream of [this.process.stdout, this.process.stderr])
      stream!.on('data', (text: Buffer) => (this.output += text.toString()));
    this.ended = new Promise((resolve) => this.process.once('close', resolve));
  }

  async up(): Promise<this> {
    await until(() => {
      if (this.process.exitCode !== null) throw new Error(`it ended:\n${this.output}`);
      return this.output.includes('Ctrl-C stops everything.');
    });
    return this;
  }

  /** What it printed, by name. */
  get addresses(): Record<string, string> {
    const lines = this.output.matchAll(/^ {2}(Page|API|Indexer|Database|Chain) +(\S+)$/gm);
    return Object.fromEntries([...lines].map(([, name, address]) => [name, address]));
  }

  stop(): Promise<number | null> {
    this.process.kill('SIGTERM');
    return this.ended;
  }
}

/** Whether page, API, indexer and chain answer where it printed. */
async function answers({ addresses }: Start): Promise<Record<string, number>> {
  const { Page, API, Indexer, Chain } = addresses;
  const chain = { method: 'POST', headers: { 'content-type': 'application/json' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] });
  const asked = { Page, API: `${API}/health`, Indexer };
  const statuses = Object.entries(asked).map(
    async ([name, url]) => [name, (await fetch(url)).status] as const,
  );
  const { status } = await fetch(Chain, { ...chain, body });
  return { ...Object.fromEntries(await Promise.all(statuses)), Chain: status };
}

/** An indexer that follows the chain may be behind for a moment. */
async function allAnswer(start: Start): Promise<void> {
  await eventually(
    'all to answer',
    () => answers(start),
    (found) => isDeepStrictEqual(found, ALL),
  );
}

/** Signs in with the account that it printed, as a page does. */
async function signIn({ output, addresses: { API } }: Start): Promise<string> {
  const account = privateKeyToAccount(/private key +(0x\w{64})/.exec(output)![1] as Hex);
  const post = async <T>(route: string, body: object): Promise<T> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(API + route, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()) as T;
  };
  const { nonce } = await post<{ nonce: string }>('/auth/nonce', { address: account.address });
  const { host, origin } = new URL(API);
  const fields = { domain: host, uri: origin, version: '1' as const, chainId: 31_337, nonce };
  const message = createSiweMessage({ ...fields, address: account.address });
  const signature = await account.signMessage({ message });
  return (await post<{ token: string }>('/auth/verify', { message, signature })).token;
}

/** "Execute" of an operation as /docs shows it: with the examples of its parameters and its body. */
async function execute(
  API: string,
  { path: route, method, operation }: Named,
  token: string,
): Promise<number> {
  const parameters = operation.parameters ?? [];
  const exampleOf = ({ example, schema }: (typeof parameters)[number]): unknown => example ?? schema?.example;
  const url = new URL(
    API +
      route.replace(/\{(\w+)\}/g, (_, name) =>
        String(exampleOf(parameters.find((each) => each.name === name)!)),
      ),
  );
  for (const each of parameters.filter((one) => one.in === 'query' && exampleOf(one) !== undefined))
    url.searchParams.set(each.name, String(exampleOf(each)));
  const content = operation.requestBody?.content['application/json'];
  const answer = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(content && { 'content-type': 'application/json' }) },
    ...(content && { body: JSON.stringify(content.example ?? Object.values(content.examples!)[0].value) }),
  });
  // Streams do not end.
  await answer.body?.cancel();
  return answer.status;
}

interface Named {
  path: string;
  method: string;
  operation: Operation;
}

const ALL = { Page: 200, API: 200, Indexer: 200, Chain: 200 };

it('npm start works beside others: in two folders at once, with one in each, and none of it is shared', async () => {
  const folders = [0, 1].map(() => {
    const folder = mkdtempSync(path.join(tmpdir(), 'start-'));
    // PostgreSQL runs as another user when the tests run as root.
    chmodSync(folder, 0o755);
    symlinkSync(path.join(ROOT, 'dist'), path.join(folder, 'dist'));
    return folder;
  });
  const starts = folders.map((folder) => new Start(folder));
  const [first, second] = starts;
  try {
    await Promise.all(starts.map((start) => start.up()));
    const [here, there] = starts.map(({ addresses }) => addresses);
    for (const name of Object.keys(here)) expect([name, there[name]]).not.toEqual([name, here[name]]);
    for (const start of starts) await allAnswer(start);

    const { API } = there;
    let token = await signIn(second);
    const document = readDocument(await (await fetch(`${API}/docs/openapi.json`)).text());
    expect(document).toMatchObject({ servers: [{ url: API }] });
    const operations = Object.entries(document.paths).flatMap(([route, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        path: route,
        method: method.toUpperCase(),
        operation,
      })),
    );
    // A person tries what is there before he deletes it.
    const order = ({ method, path }: { method: string; path: string }): number =>
      method === 'DELETE' ? (path === '/users/me' ? 2 : 1) : 0;
    operations.sort((a, b) => order(a) - order(b));
    const paid = operations.find(({ operation }) => operation.operationId === 'transactions_detail')!;
    // The indexer has to have seen it.
    await until(async () => (await execute(API, paid, token)) === 200);
    const refused: unknown[] = [];
    for (const each of operations) {
      const status = await execute(API, each, token);
      if (status >= 300) refused.push([each.operation.operationId, status]);
      if (each.path.includes('/logout')) token = await signIn(second);
    }
    expect(refused).toEqual([
      // Its message was signed for another service.
      ['auth_verify', 401],
      // Nothing was earned yet.
      ['calls_claim', 409],
      // The draw has its winner, who has the prize.
      ['drawcalls_claim', 409],
      ['drawcalls_refund', 409],
      ['drawcalls_complete', 409],
      ['drawcalls_cancel', 409],
      // The pool is of a type without circles.
      ['circles_rounds', 404],
      ...['open', 'join', 'contribute', 'payout', 'refund', 'endRound', 'cancel'].map((name) => [
        `circlecalls_${name}`,
        404,
      ]),
      // It is disabled, so that nothing is sent to it.
      ['webhooks_test', 409],
      ['webhooks_challenge', 409],
      // Money was paid into it.
      ['pools_cancel', 409],
      // Its owner cannot.
      ['pools_leave', 403],
    ]);

    const third = new Start(folders[0]);
    expect(await third.ended).toBe(1);
    expect(third.output).toMatch(
      /^npm start runs in this folder already: process \d+, http:\/\/localhost:\d+\./,
    );
    expect(third.output).toContain(here.API);
    const taken = new URL(here.API).port;
    const settings = { PORT: taken, DATABASE_URL: 'postgres://127.0.0.1/x', RPC_URL: here.Chain };
    const fourth = new Start(folders[1], settings);
    expect(await fourth.ended).toBe(1);
    expect(fourth.output).toContain(`Port ${taken} is taken; set PORT`);
    for (const start of starts) await allAnswer(start);

    await first.stop();
    await allAnswer(second);
  } finally {
    await Promise.all(starts.map((start) => start.stop()));
    for (const folder of folders)
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  }
});

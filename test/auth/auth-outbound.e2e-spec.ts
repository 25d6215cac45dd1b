import { type Address, type Hex, type Abi, getAddress, serializeErc6492Signature, concat } from 'viem';
import { createLogger } from '#platform/log/logger';
import { ChainRpc } from '#ledger/chain/chain-rpc';
import { MAX_CHECKS } from '#features/auth/wallet-signature';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import { type DevClient, anvilRpc, connect, deploy, devAccount, receiptOf } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { type Response, TestApp, until } from '../support/app';
import { FakeNode } from '../support/network/fake-node';
import { type Wallet, newWallet, siweMessage } from '../support/wallet';

const FAILED = [401, { success: false, error: 'Authentication failed', code: 'authentication_failed' }];
const contracts: Record<string, { abi: Abi; bytecode: Hex }> = compile([
  'test/support/solidity/LookupWallet.sol',
  'test/support/solidity/SmartWallet.sol',
]);

/** A signature of a contract wallet, which no key made. */
const SIGNATURE: Hex = `0x${'11'.repeat(65)}`;
/** A signature whose end marks an EIP-7702 authorization. */
const ERC8010 = concat([SIGNATURE, `0x${'8010'.repeat(16)}`]);
/** What a wallet answers that accepts one (EIP-1271). */
const ACCEPTED = `0x1626ba7e${'0'.repeat(56)}`;

async function attempt(
  app: TestApp,
  address: Address,
  signature: Hex | ((message: string) => Promise<Hex>),
): Promise<Response> {
  const message = siweMessage({ address, nonce: await app.nonce(address) });
  return app.post('/auth/verify', {
    message,
    signature: typeof signature === 'string' ? signature : await signature(message),
  });
}
const byKey = (app: TestApp, wallet: Wallet = newWallet()): Promise<Response> =>
  attempt(app, wallet.address, (message) => wallet.signMessage({ message }));

/** An app that uses these endpoints as its chain. */
async function withApp<T>(RPC_URL: string, work: (app: TestApp, log: string[]) => Promise<T>): Promise<T> {
  const log: string[] = [];
  const sink = { write: (line: string) => void log.push(line) };
  const app = new TestApp();
  try {
    await app.start({ RPC_URL }, createLogger('trace', false, sink));
    return await work(app, log);
  } finally {
    await app.stop();
  }
}

const json = (
  response: { setHeader(name: string, value: string): unknown; end(text: string): unknown },
  body: object,
): void => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }));
};

describe('a contract wallet that names addresses to ask (EIP-3668), on a chain with EIP-7702', () => {
  let anvil: AnvilNode;
  let client: DevClient;
  let bait: FakeNode;
  let wallet: Address;
  const app = new TestApp();
  beforeAll(async () => {
    anvil = await startAnvil({ hardfork: 'prague' });
    client = await connect(anvil.url, devAccount(0));
    bait = await FakeNode.start((_, response) => json(response, { data: '0x' }));
    wallet = getAddress(
      (await deploy(client, contracts.LookupWallet, [`${bait.url}/{sender}/{data}`])).address,
    );
    await app.start({ RPC_URL: anvil.url });
  });
  afterAll(async () => {
    await app.stop();
    await bait?.stop();
    await anvil?.stop();
  });
  const nobodyAsked = (): void => expect(bait.requests).toHaveLength(0);

  it('is refused, and nobody is asked', async () => {
    const answer = await attempt(app, wallet, SIGNATURE);
    expect([answer.status, answer.body]).toEqual(FAILED);
    nobodyAsked();
  });

  it('also when it is not deployed yet, or its factory does it (ERC-6492)', async () => {
    const wrapped = serializeErc6492Signature({ address: wallet, data: '0x1626ba7e', signature: SIGNATURE });
    for (const address of [wallet, newWallet().address])
      expect((await attempt(app, address, wrapped)).status).toBe(401);
    nobodyAsked();
  });

  it('also when an account has delegated to it (EIP-7702), with an ERC-8010 signature or without', async () => {
    const account = newWallet();
    await anvilRpc(client, 'anvil_setCode', account.address, concat(['0xef0100', wallet]));
    await execute(account.address);
    expect((await attempt(app, account.address, SIGNATURE)).status).toBe(401);
    expect((await attempt(app, account.address, ERC8010)).status).toBe(401);
    nobodyAsked();
    // Its key still signs it in.
    expect((await byKey(app, account)).status).toBe(200);
  });

  /** Shows that the delegated code works on this chain; otherwise the refusals above would prove nothing. */
  async function execute(address: Address): Promise<void> {
    const hash = await client.writeContract({
      ...contracts.LookupWallet,
      address,
      functionName: 'setUrl',
      args: [bait.url],
    });
    await receiptOf(client, hash);
    const call = client.readContract({
      ...contracts.LookupWallet,
      address,
      functionName: 'isValidSignature',
      args: [`0x${'00'.repeat(32)}`, '0x'],
      blockTag: 'latest',
    });
    // viem makes the request that the service must not make.
    await call.catch(() => undefined);
    expect(bait.requests.length).toBeGreaterThan(0);
    bait.requests.length = 0;
  }
});

const refusals = (app: TestApp, reason: string): Promise<number> =>
  app.metric(`sign_ins_total{result="${reason}"}`);

describe('a node', () => {
  const nodes: FakeNode[] = [];
  const node = async (answer?: Parameters<typeof FakeNode.start>[0]): Promise<FakeNode> => {
    nodes.push(await FakeNode.start(answer));
    return nodes.at(-1)!;
  };
  afterEach(async () => {
    jest.restoreAllMocks();
    await Promise.all(nodes.splice(0).map((each) => each.stop()));
  });
  const refused = async (app: TestApp): Promise<void> => {
    const answer = await attempt(app, newWallet().address, SIGNATURE);
    expect([answer.status, answer.body]).toEqual(FAILED);
  };

  it('whose answer is small and unpacks to 200 MB is cut off after 1 MB', async () => {
    const { gzipSync } = await import('node:zlib');
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024, '0'));
    const packed = await node((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(bomb);
    });
    await withApp(packed.url, async (app) => {
      const before = process.memoryUsage().rss;
      await refused(app);
      expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
    });
  });

  it('whose body never ends is left after seconds', async () => {
    const dripping = await node((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 50);
      response.on('close', () => clearInterval(timer));
    });
    await withApp(dripping.url, async (app) => {
      const before = await refusals(app, 'rpc');
      await refused(app);
      await until(() => dripping.open === 0);
      expect(await refusals(app, 'rpc')).toBe(before + 1);
    });
  });

  it('is asked with the credentials of RPC_URL, and no log line holds them, its path or its query', async () => {
    const refusing = await node((_, response) => response.writeHead(500).end('no'));
    const address = refusing.url.replace('http://', 'http://s3cret-user:s3cret-p%40ss%2Fword@');
    await withApp(
      `${address}/s3cret-path?key=s3cret-key,http://127.0.0.1:1/s3cret-path`,
      async (app, log) => {
        await refused(app);
        expect(refusing.requests[0].headers.authorization).toBe(
          `Basic ${Buffer.from('s3cret-user:s3cret-p@ss/word').toString('base64')}`,
        );
        expect(refusing.requests[0].url).toBe('/s3cret-path?key=s3cret-key');
        expect(log.join('')).toContain('"reason":"rpc"');
        expect(log.join('')).not.toMatch(/s3cret|ss.{1,3}word|czNjcmV0/);
      },
    );
  });

  it('that accepts everything is not asked about an ERC-8010 signature', async () => {
    const agreeing = await node((_, response, call) =>
      json(response, { ...JSON.parse(call), result: ACCEPTED }),
    );
    await withApp(agreeing.url, async (app) => {
      const address = newWallet().address;
      expect((await attempt(app, address, ERC8010)).status).toBe(401);
      expect(agreeing.requests).toHaveLength(0);
      expect((await attempt(app, address, SIGNATURE)).status).toBe(200);
    });
  });

  it('that fails is replaced by the next one', async () => {
    const owner = newWallet();
    const anvil = await startAnvil();
    try {
      const client = await connect(anvil.url, devAccount(0));
      const { address } = await deploy(client, contracts.SmartWallet, [owner.address]);
      const hanging = await node();
      const limited = await node((_, response) =>
        json(response, { error: { code: -32005, message: 'limit exceeded' } }),
      );
      for (const broken of [hanging, limited])
        await withApp(`${broken.url},${anvil.url}`, async (app) => {
          const sign = (message: string): Promise<Hex> => owner.signMessage({ message });
          expect((await attempt(app, getAddress(address), sign)).status).toBe(200);
          expect(broken.requests).toHaveLength(1);
        });
    } finally {
      await anvil.stop();
    }
  });

  it('is not asked about a nonce that is unknown, expired, used or of another wallet, and the message not parsed', async () => {
    const counting = await node((_, response) => json(response, { result: '0x' }));
    await withApp(counting.url, async (app) => {
      const wallet = newWallet();
      const other = newWallet();
      const post = (nonce: string): Promise<Response> =>
        // The form is wrong after the nonce: a full parse would report `malformed`.
        app.post('/auth/verify', {
          message: `${siweMessage({ address: wallet.address, nonce })}\nnonsense`,
          signature: SIGNATURE,
        });
      const expired = await app.nonce();
      await app.sql(`UPDATE nonces SET expires_at = now() - interval '1 ms' WHERE nonce = $1`, [expired]);
      const [before, malformed] = [await refusals(app, 'nonce'), await refusals(app, 'malformed')];
      for (const nonce of ['neverIssued12345', expired, await app.nonce(other.address)])
        expect((await post(nonce)).status).toBe(401);
      expect(await refusals(app, 'nonce')).toBe(before + 3);
      expect((await post(await app.nonce(wallet.address))).status).toBe(401);
      expect(await refusals(app, 'malformed')).toBe(malformed + 1);
      expect(counting.requests).toHaveLength(0);
    });
  });

  it(`that hangs is asked ${MAX_CHECKS} times at once at most; more are 503 at once, keys sign in, and it ends`, async () => {
    const hanging = await node();
    const end = new AbortController();
    const deadline = jest.spyOn(ChainRpc, 'deadline').mockReturnValue(end.signal);
    await withApp(hanging.url, async (app) => {
      const held = Array.from({ length: MAX_CHECKS }, () => attempt(app, newWallet().address, SIGNATURE));
      await until(() => hanging.open === MAX_CHECKS);
      const more = await Promise.all(
        Array.from({ length: 20 }, () => attempt(app, newWallet().address, SIGNATURE)),
      );
      for (const { status, body, headers } of more)
        expect([status, body.error, headers['retry-after']]).toEqual([503, 'Service unavailable', '1']);
      expect((await byKey(app)).status).toBe(200);
      expect(hanging.open).toBe(MAX_CHECKS);
      end.abort();
      for (const { status } of await Promise.all(held)) expect(status).toBe(401);
      expect(hanging.requests).toHaveLength(MAX_CHECKS);
      expect(await refusals(app, 'busy')).toBe(20);
      // Places are free again, and the deadline is the service's own.
      deadline.mockRestore();
      expect((await attempt(app, newWallet().address, SIGNATURE)).status).toBe(401);
    });
  });
});

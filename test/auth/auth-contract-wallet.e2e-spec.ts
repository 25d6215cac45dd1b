import { once } from 'node:events';
import { type Server, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import {
  type Address,
  type Hex,
  compactSignatureToHex,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  getCreate2Address,
  hashMessage,
  keccak256,
  parseSignature,
  serializeErc6492Signature,
  serializeSignature,
  signatureToCompactSignature,
} from 'viem';
import { createLogger } from '#platform/log/logger';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import { type DevClient, connect, deploy, devAccount, receiptOf } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { TestApp, useApp } from '../support/app';
import { type Wallet, newWallet, siweMessage } from '../support/wallet';

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const { ApprovingWallet, SmartWallet, SmartWalletFactory } = compile([
  'test/support/solidity/SmartWallet.sol',
]);
const FAILED = { success: false, error: 'Authentication failed', code: 'authentication_failed' };

let anvil: AnvilNode;
let client: DevClient;
let factory: Address;
const app = new TestApp();

beforeAll(async () => {
  anvil = await startAnvil();
  client = await connect(anvil.url, devAccount(0));
  factory = getAddress((await deploy(client, SmartWalletFactory)).address);
  await app.start({ RPC_URL: anvil.url });
});
afterAll(async () => {
  await app.stop();
  await anvil.stop();
});

const deployed = async (owner: Wallet): Promise<Address> =>
  getAddress((await deploy(client, SmartWallet, [owner.address])).address);

/** Where the factory will create the wallet, and the call that creates it. */
function counterfactual(owner: Wallet): { address: Address; data: Hex } {
  const initCode = encodeDeployData({ ...SmartWallet, args: [owner.address] });
  return {
    address: getCreate2Address({
      from: factory,
      salt: `0x${'00'.repeat(32)}`,
      bytecodeHash: keccak256(initCode),
    }),
    data: encodeFunctionData({ abi: SmartWalletFactory.abi, functionName: 'deploy', args: [owner.address] }),
  };
}

/** Signs in as `address` with a signature of `signer`, as `change` leaves it. */
async function attempt(
  address: Address,
  signer: Wallet,
  change = (signature: Hex): Hex => signature,
  on = app,
) {
  const message = siweMessage({ address, nonce: await on.nonce(address) });
  const signature = change(await signer.signMessage({ message }));
  return on.post('/auth/verify', { message, signature });
}

it('EIP-1271: a deployed wallet signs in with the signature of its owner only', async () => {
  const owner = newWallet();
  const wallet = await deployed(owner);
  const answer = await attempt(wallet, owner);
  expect(answer.status).toBe(200);
  expect(answer.body.user.address).toBe(wallet.toLowerCase());
  const refused = await attempt(wallet, newWallet());
  expect([refused.status, refused.body]).toEqual([401, FAILED]);
});

it('EIP-1271: a contract without signature checks signs nobody in', async () => {
  expect((await attempt(factory, newWallet())).status).toBe(401);
});

it('EIP-1271: a wallet whose owners approved the message on the chain signs in with an empty signature', async () => {
  const { address } = await deploy(client, ApprovingWallet);
  const message = siweMessage({ address: getAddress(address), nonce: await app.nonce(address) });
  const signIn = () => app.post('/auth/verify', { message, signature: '0x' });
  expect((await signIn()).status).toBe(401);
  const { abi } = ApprovingWallet;
  const args = [hashMessage(message)];
  await receiptOf(client, await client.writeContract({ abi, address, functionName: 'approve', args }));
  expect((await signIn()).body.user.address).toBe(address.toLowerCase());
});

it('ERC-6492: a wallet that is not deployed yet signs in', async () => {
  const owner = newWallet();
  const { address, data } = counterfactual(owner);
  const wrapped = (signature: Hex): Hex => serializeErc6492Signature({ address: factory, data, signature });
  const answer = await attempt(address, owner, wrapped);
  expect(answer.status).toBe(200);
  expect(answer.body.user.address).toBe(address.toLowerCase());
  expect(await client.getCode({ address })).toBeUndefined();

  expect((await attempt(address, newWallet(), wrapped)).status).toBe(401);
  expect((await attempt(address, owner)).status).toBe(401);
  expect((await attempt(counterfactual(newWallet()).address, owner, wrapped)).status).toBe(401);
});

it('keys sign in as without a chain: by a compact signature too, by no malleated one', async () => {
  const wallet = newWallet();
  expect((await attempt(wallet.address, wallet)).status).toBe(200);
  const malleated = (signature: Hex): Hex => {
    const { r, s, yParity } = parseSignature(signature);
    return serializeSignature({
      r,
      s: `0x${(ORDER - BigInt(s)).toString(16).padStart(64, '0')}`,
      yParity: yParity ? 0 : 1,
    });
  };
  const compact = (signature: Hex): Hex =>
    compactSignatureToHex(signatureToCompactSignature(parseSignature(signature)));
  expect((await attempt(wallet.address, wallet, malleated)).status).toBe(401);
  expect((await attempt(wallet.address, wallet, compact)).status).toBe(200);
  expect((await attempt(wallet.address, newWallet())).status).toBe(401);
});

describe('with a provider that asks for user and password, and for a key in the path', () => {
  const CREDENTIALS = 's3cret-user:s3cret-p@ss/word';
  const PATH = '/v2/s3cret-path?key=s3cret-key';
  const basic = `Basic ${Buffer.from(CREDENTIALS).toString('base64')}`;
  let provider: Server;
  let refusals = 0;
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  beforeAll(async () => {
    // A proxy before the node: unauthorised requests get 401 with a text that repeats the request.
    provider = createServer((incoming, response) => {
      if (incoming.headers.authorization !== basic || incoming.url !== PATH) {
        refusals += 1;
        return void response.writeHead(401).end(`not for ${incoming.url} ${incoming.headers.authorization}`);
      }
      const headers = { 'content-type': 'application/json' };
      const forwarded = request(anvil.url, { method: incoming.method, headers }, (answer) => {
        response.writeHead(answer.statusCode!, headers);
        answer.pipe(response);
      });
      incoming.pipe(forwarded);
    });
    await once(provider.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(async () => {
    provider.closeAllConnections();
    await new Promise((resolve) => provider.close(resolve));
  });

  /** Of a sign-in by a contract wallet, with an app whose RPC_URL has these in it. */
  async function signInWith(user: string, password: string, path = PATH): Promise<number> {
    const { port } = provider.address() as AddressInfo;
    const RPC_URL = `http://${[user, password].map(encodeURIComponent).join(':')}@127.0.0.1:${port}${path}`;
    const behind = new TestApp();
    await behind.start({ RPC_URL }, createLogger('trace', false, sink));
    try {
      const owner = newWallet();
      await behind.get('/health');
      return (await attempt(await deployed(owner), owner, undefined, behind)).status;
    } finally {
      await behind.stop();
    }
  }

  it('EIP-1271 works, and the log never contains them, valid or not', async () => {
    const [user, password] = CREDENTIALS.split(':');
    expect(await signInWith(user, password)).toBe(200);
    expect(refusals).toBe(0);
    expect(await signInWith(user, 's3cret-wrong')).toBe(401);
    expect(await signInWith(user, password, '/v2/s3cret-other')).toBe(401);
    expect(refusals).toBe(2);
    const log = lines.join('');
    expect(log).toContain('signed in');
    expect(log).toContain('"reason":"rpc"');
    expect(log).not.toMatch(/s3cret|p(@|%40)ss|word/);
    // The beginning of the user in Basic authentication.
    expect(log).not.toContain(Buffer.from('s3cret-user:').toString('base64'));
  });
});

describe('with the chain down', () => {
  // Nothing listens on port 1.
  const cutOff = useApp({ RPC_URL: 'http://127.0.0.1:1' });

  it('contract wallets are refused, keys sign in', async () => {
    const owner = newWallet();
    const unanswered = async (): Promise<number> =>
      Number(/^sign_ins_total\{result="rpc"\} (\d+)/m.exec(await cutOff.metrics())?.[1] ?? 0);
    const before = await unanswered();
    const refused = await attempt(await deployed(owner), owner, undefined, cutOff);
    expect([refused.status, refused.body]).toEqual([401, FAILED]);
    expect((await attempt(owner.address, owner, undefined, cutOff)).status).toBe(200);
    expect(await unanswered()).toBe(before + 1);
  });
});

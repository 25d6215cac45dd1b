import { createHmac, generateKeyPairSync } from 'node:crypto';
import {
  type Hex,
  concat,
  numberToHex,
  parseSignature,
  serializeCompactSignature,
  signatureToCompactSignature,
} from 'viem';
import { Fleet, report } from '../support/processes/fleet';
import { JWT_SECRET } from '../support/app';
import { type MessageFields, type Wallet, newWallet, siweMessage } from '../support/wallet';
import { type Answer, type Caller, HttpClient, named, signIn, tally } from './http';

const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const FAILED = {
  success: false,
  error: 'Authentication failed',
  message: 'Authentication failed',
  code: 'authentication_failed',
};
const INVALID = { success: false, error: 'Invalid token', message: 'Invalid token', code: 'invalid_token' };

/** Replicas are configured as in production: SIWE_DOMAINS is app.example.org. */
describe('hostile sign-ins and tokens', () => {
  const wallet: Wallet = newWallet();
  let fleet: Fleet;
  let clients: HttpClient[];
  let caller: Caller;
  /** Answers to all sign-ins and tokens below. */
  const answers: Answer[] = [];
  beforeAll(async () => {
    fleet = await Fleet.start();
    clients = fleet.urls.map((url) => new HttpClient(url));
    caller = await signIn(clients[0], wallet);
  });
  afterAll(async () => {
    clients?.forEach((client) => client.close());
    await fleet?.stop();
    report('hostile sign-ins and tokens', { requests: answers.length, ...named(tally(answers)) });
  });
  const counted = async (request: Promise<Answer>): Promise<Answer> => {
    answers.push(await request);
    return request;
  };

  const nonce = async (): Promise<string> => (await clients[0].send('/auth/nonce')).body.nonce as string;
  const verify = (message: string, signature: string, client = clients[0]): Promise<Answer> =>
    counted(client.send('/auth/verify', { method: 'POST', body: { message, signature } }));
  const signed = async (fields: Partial<MessageFields> = {}): Promise<[string, Hex]> => {
    const message = siweMessage({ address: wallet.address, nonce: await nonce(), ...fields });
    return [message, await wallet.signMessage({ message })];
  };

  it('the message on which all others are based signs in', async () => {
    expect((await verify(...(await signed()))).status).toBe(200);
  });

  it.each<[string, Partial<MessageFields>]>([
    ['foreign domain', { domain: 'evil.example' }],
    ['foreign domain that begins like ours', { domain: 'app.example.org.evil.example' }],
    ['foreign domain that ends like ours', { domain: 'evil-app.example.org' }],
    ['our domain as user of a foreign one', { domain: 'app.example.org@evil.example' }],
    ['our domain with a port', { domain: 'app.example.org:8443' }],
    ['Cyrillic а for a', { domain: '\u0430pp.example.org' }],
    ['fullwidth letters', { domain: '\uff41pp.example.org' }],
    ['ideographic full stop', { domain: 'app\u3002example.org' }],
    ['zero width joiner', { domain: 'app\u200d.example.org' }],
    ['right-to-left override', { domain: '\u202egro.elpmaxe.ppa' }],
    ['trailing dot', { domain: 'app.example.org.' }],
    ['upper case', { domain: 'APP.EXAMPLE.ORG' }],
    ['punycode', { domain: 'xn--pp-7kc.example.org' }],
    ['foreign URI', { uri: 'https://evil.example/login' }],
    ['our domain as user of a foreign URI', { uri: 'https://app.example.org@evil.example/' }],
    ['backslash in the URI', { uri: 'https://evil.example\\@app.example.org/' }],
    ['script as URI', { uri: 'javascript:alert(1)//app.example.org' }],
    ['domain with a newline', { domain: 'evil.example\napp.example.org' }],
    ['statement that brings its own fields', { statement: 'x\n\nURI: https://app.example.org\nVersion: 1' }],
    ['statement with a second message', { statement: 'x\napp.example.org wants you to sign in' }],
    ['statement with a carriage return', { statement: 'x\rapp.example.org' }],
    ['statement with a line separator', { statement: 'x\u2028app.example.org' }],
    ['request id with a newline', { requestId: 'x\nURI: https://evil.example' }],
    ['chain id with a newline', { chainId: '1\nNonce: 00000000' }],
    ['address of another wallet', { address: newWallet().address }],
    ['address with look-alike zero', { address: `\u04240x${wallet.address.slice(2)}` }],
    ['expired by one second', { expirationTime: new Date(Date.now() - 1000).toISOString() }],
  ])('refuses a signed message with %s', async (_, fields) => {
    const answer = await verify(...(await signed(fields)));
    expect([answer.status, answer.body]).toEqual([401, FAILED]);
  });

  it('refuses a replay at every replica, however the signature or the body is dressed', async () => {
    const [message, signature] = await signed();
    expect((await verify(message, signature, clients[1])).status).toBe(200);
    for (const client of clients)
      for (const again of [signature, signature.toUpperCase().replace('0X', '0x'), `${signature}`]) {
        const answer = await verify(message, again, client);
        expect([answer.status, answer.body]).toEqual([401, FAILED]);
      }
  });

  it('refuses the malleated twin (high s) of a valid signature, and a replay in the form of EIP-2098', async () => {
    const [message, signature] = await signed();
    const { r, s, yParity } = parseSignature(signature);
    const malleated = concat([r, numberToHex(N - BigInt(s), { size: 32 }), yParity === 1 ? '0x1b' : '0x1c']);
    const compact = serializeCompactSignature(signatureToCompactSignature({ r, s, yParity }));
    for (const client of clients) expect((await verify(message, malleated, client)).status).toBe(401);
    // It did not consume the nonce.
    expect((await verify(message, signature)).status).toBe(200);
    for (const client of clients) expect((await verify(message, compact, client)).status).toBe(401);
  });

  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const forge = (header: object, change: object = {}, key: string | Buffer = JWT_SECRET): string => {
    const now = Math.floor(Date.now() / 1000);
    const { userId, address } = JSON.parse(
      Buffer.from(caller.token.split('.')[1], 'base64url').toString(),
    ) as Record<string, string>;
    const claims = { userId, address, iat: now, exp: now + 600, ...change };
    const content = `${encode({ alg: 'HS256', typ: 'JWT', ...header })}.${encode(claims)}`;
    return `${content}.${createHmac('sha256', key).update(content).digest('base64url')}`;
  };
  const publicKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey;
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();

  it('a token of the right key and form is accepted', async () => {
    expect((await clients[0].send('/pools', { token: forge({}) })).status).toBe(200);
  });

  it.each<[string, () => string]>([
    ['alg none', () => forge({ alg: 'none' }).replace(/[^.]*$/, '')],
    ['alg none with a signature', () => forge({ alg: 'none' })],
    ['alg nOnE', () => forge({ alg: 'nOnE' }).replace(/[^.]*$/, '')],
    ['alg as a list', () => forge({ alg: ['HS256', 'none'] })],
    ['HS256 keyed with a public key', () => forge({}, {}, pem)],
    ['RS256 claimed for an HMAC', () => forge({ alg: 'RS256' })],
    ['HS512 claimed', () => forge({ alg: 'HS512' })],
    ['an empty key', () => forge({}, {}, '')],
    ['kid of a known file', () => forge({ kid: '../../../../dev/null' }, {}, '')],
    ['kid with SQL', () => forge({ kid: `x' UNION SELECT 'key` }, {}, 'key')],
    ['kid with a command', () => forge({ kid: 'key|whoami' }, {}, 'key')],
    ['its own key in the header', () => forge({ jwk: publicKey.export({ format: 'jwk' }) }, {}, pem)],
    [
      'a key to be fetched',
      () => forge({ jku: 'http://127.0.0.1:1/keys', x5u: 'http://127.0.0.1:1/' }, {}, 'key'),
    ],
    ['a critical extension as its key', () => forge({ crit: ['b64'], b64: false }, {}, 'key')],
    ['claims as a list', () => forge({}).replace(/\.[^.]*\./, `.${encode([])}.`)],
    ['userId of the wrong type', () => forge({}, { userId: { $ne: null } })],
    ['address of the wrong type', () => forge({}, { address: [caller.address] })],
    ['expiry of the wrong type', () => forge({}, { exp: '4102444800' })],
    ['no expiry', () => forge({}, { exp: undefined })],
    ['two signatures', () => `${forge({})}.${forge({}).split('.')[2]}`],
    ['12 KB of it', () => forge({}, { pad: 'x'.repeat(9000) }, 'key')],
  ])('refuses a token with %s', async (_, make) => {
    for (const client of clients)
      for (const path of ['/pools', '/auth/me', '/analytics/user']) {
        const answer = await counted(client.send(path, { token: make() }));
        expect([answer.status, answer.body]).toEqual([401, INVALID]);
      }
  });

  it('refuses headers beyond 16 KB, and continues to serve', async () => {
    const answer = await clients[0].send('/pools', { token: 'x'.repeat(100_000) });
    expect([431, 0]).toContain(answer.status);
    expect((await clients[0].send('/pools', { token: caller.token })).status).toBe(200);
  });

  it('a kid changes nothing about a good token', async () => {
    expect((await clients[0].send('/pools', { token: forge({ kid: '../../dev/null' }) })).status).toBe(200);
  });
});

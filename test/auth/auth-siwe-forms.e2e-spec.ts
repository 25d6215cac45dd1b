import { inStandardForm, scanSiweMessage } from '#features/auth/siwe';
import { METRICS_TOKEN, type Response, type TestApp, useApp } from '../support/app';
import { type MessageFields, type Wallet, newWallet, siweMessage } from '../support/wallet';

/** Ways in which wallets and their libraries write a message, each without what EIP-4361 has there. */
const lowerCase = (text: string): string => text.replace(/0x[0-9a-fA-F]{40}/, (each) => each.toLowerCase());
const oneEmptyLine = (text: string): string => text.replace('\n\n\nURI: ', '\n\nURI: ');
const caip2 = (text: string): string => text.replace('\nChain ID: ', '\nChain ID: eip155:');
const all = (text: string): string => lowerCase(oneEmptyLine(caip2(text)));

async function attempt(
  app: TestApp,
  form: (text: string) => string,
  fields: Partial<MessageFields> = {},
  wallet: Wallet = newWallet(),
): Promise<Response> {
  const nonce = fields.nonce ?? (await app.nonce());
  const message = form(siweMessage({ address: wallet.address, nonce, ...fields }));
  return app.post('/auth/verify', { message, signature: await wallet.signMessage({ message }) });
}

describe('a message in the form of wallets', () => {
  const app = useApp({ SIWE_DOMAINS: 'app.example.org', CHAIN_ID: '8453' });
  const statement = 'Sign in.';

  it.each<[string, (text: string) => string, Partial<MessageFields>]>([
    ['lower case', lowerCase, {}],
    ['lower case, with a statement', lowerCase, { statement }],
    ['one empty line', oneEmptyLine, {}],
    ['a chain of CAIP-2', caip2, { statement }],
    ['all of them', all, {}],
    ['all of them, with more fields', all, { requestId: 'a', resources: ['https://app.example.org/a'] }],
    ['a statement like its own end', lowerCase, { statement: 'URI: https://evil.example' }],
  ])('signs in: %s', async (_, form, fields) => {
    const wallet = newWallet();
    const answer = await attempt(app, form, { chainId: 8453, ...fields }, wallet);
    expect([answer.status, answer.body.user?.address]).toEqual([200, wallet.address.toLowerCase()]);
    const me = await app.get('/users/me', { token: answer.body.token as string });
    expect(me.body.data.chainId).toBe(8453);
  });

  it.each<[string, (text: string) => string, Partial<MessageFields>]>([
    ['another chain', caip2, { chainId: 1 }],
    ['another site', all, { domain: 'evil.example' }],
    ['another URI', all, { uri: 'https://evil.example' }],
    ['a chain of another kind', (text) => text.replace('ID: ', 'ID: solana:'), {}],
    ['a chain named twice', (text) => caip2(caip2(text)), {}],
    ['EIP155 in capitals', (text) => text.replace('ID: ', 'ID: EIP155:'), {}],
    [
      'an address in upper case',
      (text) => text.replace(/0x(.{40})/, (hex) => `0x${hex.slice(2).toUpperCase()}`),
      {},
    ],
    ['0X before the address', (text) => lowerCase(text).replace('0x', '0X'), {}],
    ['no empty line', (text) => text.replace('\n\n\n', '\n'), {}],
    ['three empty lines', (text) => text.replace('\n\n\n', '\n\n\n\n\n'), {}],
    ['one empty line around a statement', (text) => text.replace('\n\nSign', '\nSign'), { statement }],
    [
      'one empty line behind a statement',
      (text) => text.replace('Sign in.\n\n', 'Sign in.\n'),
      { statement },
    ],
    ['another network', (text) => text.replace('Ethereum account', 'Base account'), {}],
    [
      'a statement that brings its own fields',
      (text) => text.replace('Sign in.', 'URI: https://app.example.org/login\nVersion: 1\nChain ID: 8453'),
      { statement, uri: 'https://app.example.org/other' },
    ],
    ['a line feed behind it', (text) => `${text}\n`, {}],
    ['something before it', (text) => `x\n${text}`, {}],
    ['something behind it', (text) => `${text}\nx`, {}],
    ['CR LF', (text) => text.replaceAll('\n', '\r\n'), {}],
    ['a nonce that is not alphanumeric', (text) => text.replace(/(Nonce: \w{8})/, '$1-'), {}],
    ['nothing', () => '', {}],
    ['a second URI', (text) => text.replace('\n\nURI', '\nURI: https://evil.example\nURI'), {}],
  ])('is refused with a fault of its own, or a second meaning: %s', async (_, form, fields) => {
    const wallet = newWallet();
    const nonce = await app.nonce();
    const { status, body } = await attempt(app, form, { chainId: 8453, nonce, ...fields }, wallet);
    expect([status, body.error]).toEqual([401, 'Authentication failed']);
    // An address in capitals may happen to be without letters that show it.
    expect((await attempt(app, lowerCase, { chainId: 8453, nonce }, wallet)).status).toBe(200);
  });

  it('has its signature over the bytes as they were sent', async () => {
    const wallet = newWallet();
    const nonce = await app.nonce();
    const standard = siweMessage({ address: wallet.address, nonce, chainId: 8453 });
    const written = all(standard);
    const verify = async (message: string, signed: string): Promise<number> =>
      (await app.post('/auth/verify', { message, signature: await wallet.signMessage({ message: signed }) }))
        .status;
    expect(inStandardForm(written)).toBe(standard);
    expect(await verify(written, standard)).toBe(401);
    expect(await verify(standard, written)).toBe(401);
    expect(await verify(written, written)).toBe(200);
  });

  it('that is valid as it stands is never read in another way', () => {
    const fields = { address: newWallet().address, nonce: 'abcdefgh12345678' };
    for (const text of [
      siweMessage(fields),
      siweMessage({ ...fields, statement: 'URI: https://evil.example' }),
      siweMessage({ ...fields, statement: 'Chain ID: eip155:5' }),
      siweMessage({ ...fields, requestId: 'eip155:5', resources: ['eip155:5', 'x:0x0'] }),
    ])
      expect(inStandardForm(text)).toBe(text);
  });

  it.each([
    `${'x'.repeat(4000)}\n`,
    `a\n${newWallet().address}\n\nURI: ${'\nURI: '.repeat(700)}`,
    ...['\nChain ID: ', '\nChain ID: 1\nNonce: a', '\n', '\nNonce: abcdefgh1'].map(
      (line) => `app.example.org wants you to sign in with your Ethereum account:\n${line.repeat(500)}`,
    ),
  ])('is read to its end, however long its parts are (%#)', (text) => {
    const begun = process.cpuUsage();
    expect([scanSiweMessage(text), inStandardForm(text)]).toEqual([undefined, text]);
    // What backtracks would take many times as long.
    expect(process.cpuUsage(begun).user).toBeLessThan(2e6);
  });
});

describe('why a sign-in was refused', () => {
  const DOMAINS = { SIWE_DOMAINS: 'app.example.org', CHAIN_ID: '8453' };
  const development = useApp({ ...DOMAINS, NODE_ENV: 'development' });
  const production = useApp({ ...DOMAINS, NODE_ENV: 'production', METRICS_TOKEN });
  const plain = (text: string): string => text;

  it.each<[string, (text: string) => string, Partial<MessageFields>]>([
    ['Chain ID is 1, and CHAIN_ID is 8453', plain, {}],
    [
      'the domain evil.example is not one of SIWE_DOMAINS (app.example.org)',
      plain,
      { domain: 'evil.example' },
    ],
    ['the host of the URI https://evil.example is not one of', plain, { uri: 'https://evil.example' }],
    ['the nonce is unknown', plain, { nonce: 'neverIssued12345' }],
    ['the Expiration Time', plain, { chainId: 8453, expirationTime: '2020-01-01T00:00:00Z' }],
    [
      'the message is not EIP-4361: line 9: invalid version',
      (text) => text.replace('Version: 1', 'Version: 3'),
      {},
    ],
    ['not in the form of EIP-4361', (text) => text.replace('Nonce', 'Once'), {}],
  ])('is told in development, and nowhere else: %s', async (reason, form, fields) => {
    const told = await attempt(development, form, fields);
    expect(told.status).toBe(401);
    expect(told.body).toEqual({
      success: false,
      error: 'Authentication failed',
      code: 'authentication_failed',
      reason: expect.stringContaining(reason),
    });
    const { body } = await attempt(production, form, fields);
    expect(body).toEqual({ success: false, error: 'Authentication failed', code: 'authentication_failed' });
  });
});

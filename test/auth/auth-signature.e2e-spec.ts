import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Hex,
  compactSignatureToHex,
  parseSignature,
  recoverMessageAddress,
  serializeSignature,
  signatureToCompactSignature,
} from 'viem';
import { SignInRefused } from '#features/auth/sign-in-refused';
import { inStandardForm, parseSiweMessage } from '#features/auth/siwe';
import { isSignedByKey } from '#features/auth/wallet-signature';
import { useApp } from '../support/app';
import { type MessageFields, newWallet, siweMessage } from '../support/wallet';

const app = useApp();
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const wallet = newWallet();

/** Posts a valid message with its valid signature as modified by `change`. */
async function withSignature(change: (signature: Hex) => unknown): Promise<number> {
  const message = siweMessage({ address: wallet.address, nonce: await app.nonce() });
  const signature = await wallet.signMessage({ message });
  return (await app.post('/auth/verify', { message, signature: change(signature) })).status;
}

const hex = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`;

describe('signature', () => {
  it('is accepted as wallets make it, and with a recovery byte of 0 or 1', async () => {
    expect(await withSignature((signature) => signature)).toBe(200);
    expect(await withSignature((signature) => `0x${signature.slice(2).toUpperCase()}`)).toBe(200);
    const zeroBased = (signature: Hex): string =>
      signature.slice(0, -2) + (parseInt(signature.slice(-2), 16) - 27).toString().padStart(2, '0');
    expect(await withSignature(zeroBased)).toBe(200);
  });

  it('with a high s, the malleated twin of a valid one, is refused', async () => {
    const twin = (signature: Hex): Hex => {
      const { r, s, yParity } = parseSignature(signature);
      return serializeSignature({ r, s: hex(ORDER - BigInt(s)), yParity: yParity ? 0 : 1 });
    };
    expect(await withSignature(twin)).toBe(401);
    expect(await withSignature((signature) => twin(twin(signature)))).toBe(200);
  });

  it('in the compact form of EIP-2098 is accepted, whichever key it is, and not as its twin', async () => {
    const compact = (signature: Hex): Hex =>
      compactSignatureToHex(signatureToCompactSignature(parseSignature(signature)));
    const seen = new Set<number | undefined>();
    while (seen.size < 2) {
      const made = (signature: Hex): Hex => {
        seen.add(parseSignature(signature).yParity);
        return compact(signature);
      };
      expect(await withSignature(made)).toBe(200);
    }
    // The other recovery id is the highest bit of the 33rd byte.
    const flip = (signature: Hex): string => {
      const digit = parseInt(compact(signature)[66], 16) ^ 8;
      return compact(signature).slice(0, 66) + digit.toString(16) + compact(signature).slice(67);
    };
    expect(await withSignature(flip)).toBe(401);
    expect(await withSignature((signature) => `${compact(signature)}01`)).toBe(401);
    const high = (signature: Hex): string => {
      const { r, s, yParity } = parseSignature(signature);
      const twin = ORDER - BigInt(s);
      return `${r}${(twin | (yParity ? 0n : 1n << 255n)).toString(16).padStart(64, '0')}`;
    };
    expect(await withSignature(high)).toBe(401);
  });

  it.each<[string, (signature: Hex) => unknown]>([
    ['empty', () => ''],
    ['no bytes', () => '0x'],
    ['not hex', () => '0xzz'],
    ['words', () => 'signature'],
    ['half a byte short', (signature) => signature.slice(0, -1)],
    // Without its last byte, half of them are valid ones of EIP-2098.
    ['two bytes short', (signature) => signature.slice(0, -4)],
    ['a byte long', (signature) => `${signature}00`],
    ['zeros', () => `0x${'00'.repeat(65)}`],
    ['r zero', (signature) => `0x${'00'.repeat(32)}${signature.slice(66)}`],
    ['r and s beyond the order', () => `0x${'ff'.repeat(64)}1b`],
    ['r the order', (signature) => `${hex(ORDER)}${signature.slice(66)}`],
    ['another recovery byte', (signature) => `${signature.slice(0, -2)}1d`],
    [
      'the other recovery byte',
      (signature) => signature.slice(0, -2) + (signature.endsWith('1b') ? '1c' : '1b'),
    ],
    ['without 0x', (signature) => signature.slice(2)],
    ['with a space', (signature) => ` ${signature}`],
    ['huge', () => `0x${'00'.repeat(30_000)}`],
    ['ERC-6492 without a chain to ask', (signature) => `${signature}${'6492'.repeat(16)}`],
    ['a number', () => 1],
    ['a list', (signature) => [signature]],
  ])('that is wrong is refused: %s', async (_, change) => {
    expect(await withSignature(change)).toBe(401);
  });

  it('covers the message as sent, to the last byte', async () => {
    const message = siweMessage({ address: wallet.address, nonce: await app.nonce(), statement: 'Sign.' });
    const signature = await wallet.signMessage({ message });
    for (const other of [message.replace('Sign.', 'Sign!'), `${message} `, message.replaceAll('\n', '\r\n')])
      expect((await app.post('/auth/verify', { message: other, signature })).status).toBe(401);
    expect((await app.post('/auth/verify', { message, signature })).status).toBe(200);
  });

  it('may have 16 KB of hex, and its message 4 KB; longer ones are refused unparsed', async () => {
    const refused = (reason: string): Promise<number> => app.metric(`sign_ins_total{result="${reason}"}`);
    const sized = async (length: number): Promise<{ message: string; signature: Hex }> => {
      const fields = { address: wallet.address, nonce: await app.nonce(), issuedAt: '2031-05-06T12:00:00Z' };
      const room = length - siweMessage({ ...fields, statement: '' }).length;
      const message = siweMessage({ ...fields, statement: 'x'.repeat(room) });
      expect(message).toHaveLength(length);
      return { message, signature: await wallet.signMessage({ message }) };
    };
    expect((await app.post('/auth/verify', await sized(4096))).status).toBe(200);
    const malformed = await refused('malformed');
    const long = await app.post('/auth/verify', await sized(4097));
    expect([long.status, long.body]).toEqual([
      401,
      { success: false, error: 'Authentication failed', code: 'authentication_failed' },
    ]);
    expect(await refused('malformed')).toBe(malformed + 1);

    const wrong = await refused('signature');
    expect(await withSignature(() => `0x${'11'.repeat(8191)}`)).toBe(401);
    expect(await refused('signature')).toBe(wrong + 1);
    expect(await withSignature(() => `0x${'11'.repeat(8192)}`)).toBe(401);
    expect(await refused('malformed')).toBe(malformed + 2);
  });

  it('is recovered as viem does it, whatever its parts are', async () => {
    const message = 'any';
    const part = (max: bigint): Hex => hex((BigInt(`0x${randomBytes(40).toString('hex')}`) % max) + 1n);
    let recovered = 0;
    for (let i = 0; i < 60; i++) {
      const last = ['00', '01', '1b', '1c'][i % 4];
      const signature: Hex = `${part(ORDER - 1n)}${part(ORDER / 2n).slice(2)}${last}`;
      const address = await recoverMessageAddress({ message, signature }).catch(() => undefined);
      if (address) recovered++;
      expect(isSignedByKey(message, address ?? wallet.address, signature)).toBe(address !== undefined);
      expect(isSignedByKey(message, wallet.address, signature)).toBe(false);
    }
    // About half of all numbers are the x of a point.
    expect(recovered).toBeGreaterThan(0);
    expect(recovered).toBeLessThan(60);
  });
});

const rules = { domains: [] };

describe('times', () => {
  const [before, now, after] = ['11:59:59.999', '12:00:00.000', '12:00:00.001'].map(
    (t) => `2031-05-06T${t}Z`,
  );
  const issuedAt = '2031-05-06T12:01:00.000Z';

  it.each<[string | undefined, Partial<MessageFields>]>([
    [undefined, { issuedAt }],
    ['not_yet_valid', { issuedAt: '2031-05-06T12:01:00.001Z' }],
    [undefined, { issuedAt, notBefore: now }],
    ['not_yet_valid', { issuedAt, notBefore: after }],
    [undefined, { issuedAt, notBefore: before, expirationTime: after }],
    ['expired', { issuedAt, expirationTime: now }],
  ])('are respected to the millisecond, with 60 s of skew: %s for %j', (reason, fields) => {
    const message = siweMessage({ address: wallet.address, nonce: 'abcdefgh12345678', ...fields });
    expect(refusal(() => parseSiweMessage(message, { domains: [], strict: true }, new Date(now)))).toBe(
      reason,
    );
  });
});

/** Vectors of spruceid/siwe; NOTICE.md beside them names the source and its licence. */
const VECTORS = join(__dirname, '../vectors/eip4361');

describe('published vector', () => {
  const load = <T>(file: string): [string, T][] =>
    Object.entries(JSON.parse(readFileSync(join(VECTORS, file), 'utf8')) as Record<string, T>);
  const then = new Date('2022-03-18T00:00:00Z');

  type Signed = MessageFields & {
    signature: string;
    time?: string;
    domainBinding?: string;
    matchNonce?: string;
  };
  const accepts = async (fields: Signed): Promise<boolean> => {
    const message = siweMessage(fields);
    const domains = fields.domainBinding ? [fields.domainBinding] : [];
    const now = fields.time ? new Date(fields.time) : new Date();
    if (refusal(() => parseSiweMessage(message, { domains }, now))) return false;
    if (fields.matchNonce && fields.matchNonce !== fields.nonce) return false;
    return isSignedByKey(message, fields.address as Hex, fields.signature as Hex);
  };

  it.each(load<{ message: string; fields: object }>('parsing_positive.json'))(
    'parses: %s',
    (_, { message, fields }) => {
      const present = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
      expect({ ...parseSiweMessage(message, rules, then) }).toMatchObject(present);
      expect(inStandardForm(message)).toBe(message);
    },
  );
  it.each(load<string>('parsing_negative.json'))('does not parse: %s', (name, message) => {
    expect(refusal(() => parseSiweMessage(message, rules, then))).toBe('malformed');
    // What wallets write in other ways is none of these, but for the address in lower case.
    const read = refusal(() => parseSiweMessage(inStandardForm(message), rules, then));
    expect(read).toBe(name === 'address not EIP-55' ? undefined : 'malformed');
  });
  it.each(load<Signed>('verification_positive.json'))('verifies: %s', async (_, fields) =>
    expect(await accepts(fields)).toBe(true),
  );
  it.each(load<Signed>('verification_negative.json'))('does not verify: %s', async (_, fields) =>
    expect(await accepts(fields)).toBe(false),
  );
});

function refusal(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (error instanceof SignInRefused) return error.reason;
    throw error;
  }
}

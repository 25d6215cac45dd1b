import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { toHex } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { isStrongSecret } from './secret';

it.each<[string, () => string]>([
  ['openssl rand -hex 32', () => randomBytes(32).toString('hex')],
  ['openssl rand -base64 32', () => randomBytes(32).toString('base64')],
  ['32 bytes as base64url', () => randomBytes(32).toString('base64url')],
  ['a UUID', () => randomUUID()],
])('a random secret passes: %s', (_, make) => {
  for (let i = 0; i < 100; i++) {
    const secret = make();
    // One in some millions has such a word by chance.
    if (/secret|qwerty|replace|example|default|letmein|develop/i.test(secret)) continue;
    expect([secret, isStrongSecret(secret)]).toEqual([secret, true]);
  }
});

describe('a bad secret', () => {
  it.each([
    'a'.repeat(64),
    'ab'.repeat(32),
    'deadbeef'.repeat(8),
    '0123456789abcdef0123456789abcdef',
    '12345678901234567890123456789012',
    'abcdefghijklmnopqrstuvwxyz0123456789',
    'zyxwvutsrqponmlkjihgfedcba9876543210',
    '00000000-0000-4000-8000-000000000001',
    'changeme-changeme-changeme-changeme',
    'CHANGE_ME_IN_THE_DEPLOYMENT_0a9f8e7d',
    'your-256-bit-secret-your-256-bit-secret',
    'P@ssw0rd-for-tokens-8f3k2l9x7q1z5m',
    'qwertyuiopasdfghjklzxcvbnm-3f9a7c2e',
    'replace-with-openssl-rand-hex-32-out',
    '0x0x0x0x0x0x0x0x0x0x0x0x0x0x0x0x0x',
    '',
  ])('is refused: %j', (secret) => expect(isStrongSecret(secret)).toBe(false));

  it('includes the keys of every test node', () => {
    const words = `${'test '.repeat(11)}junk`;
    for (let addressIndex = 0; addressIndex < 10; addressIndex++) {
      const key = toHex(mnemonicToAccount(words, { addressIndex }).getHdKey().privateKey!);
      expect([key, key.toUpperCase().replace('X', 'x')].filter(isStrongSecret)).toEqual([]);
    }
  });

  it('includes every secret that this repository publishes', () => {
    const root = join(__dirname, '../../..');
    const files = ['README.md', '.env.example', 'src/settings/environment.spec.ts'];
    for (const folder of ['deploy', 'docs', 'test', 'bench', 'examples'])
      for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }))
        if (/\.(ts|mjs|js|ya?ml|env|md)$/.test(file)) files.push(join(folder, file));
    const found = files.flatMap((file) =>
      [
        ...readFileSync(join(root, file), 'utf8').matchAll(
          /(?:KEEPER_KEY|JWT_\w*SECRET|OTHER_SECRET|secret)['"]?\s*[:=]+\s*(?:\$\{\w+:-|['"`])([^'"`}\n$]{32,})/g,
        ),
      ].map(([, secret]) => secret),
    );
    expect(found.length).toBeGreaterThan(2);
    expect(found.filter(isStrongSecret)).toEqual([]);
  });
});

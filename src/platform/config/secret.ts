/** Secrets that are published in this repository, and the keys of every local test node's ten accounts. */
const PUBLISHED = new Set([
  'only-for-development-on-one-laptop',
  'your-256-bit-secret',
  '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
  '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6',
  '0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a',
  '0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba',
  '0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e',
  '0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356',
  '0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97',
  '0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6',
]);

/** Words of placeholders and invented sentences, six letters or more. Random secrets do not contain them. */
const PLACEHOLDER =
  /change.?me|change.?this|replace|secret|p[a@]ssw[o0]rd|example|default|placeholder|qwerty|letmein|develop|production|benchmark/i;

/** Of 16 random bytes in hex, a few in a million have fewer different characters or steps. */
const LEAST_DIFFERENT = 9;

/** Differences between neighbouring character codes: 0123 has one, as has 3210. */
function stepsOf(secret: string): Set<number> {
  const codes = [...secret].map((character) => character.codePointAt(0)!);
  return new Set(codes.slice(1).map((code, i) => code - codes[i]));
}

/**
 * Whether a secret may sign tokens in production: it is not published, contains no word of a placeholder, has enough
 * different characters, and is no sequence such as 0123.
 */
export const isStrongSecret = (secret: string): boolean =>
  !PUBLISHED.has(secret.toLowerCase()) &&
  !PLACEHOLDER.test(secret) &&
  new Set(secret).size >= LEAST_DIFFERENT &&
  stepsOf(secret).size >= LEAST_DIFFERENT;

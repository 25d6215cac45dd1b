/** Secrets that are published in this repository. */
const PUBLISHED = new Set(['only-for-development-on-one-laptop', 'your-256-bit-secret']);

/** Words of placeholders and invented sentences, six letters or more. Random secrets do not contain them. */
const PLACEHOLDER =
  /change.?me|change.?this|replace|secret|p[a@]ssw[o0]rd|example|default|placeholder|qwerty|letmein|develop|production|benchmark/i;

/** The least estimated entropy in bits. By the same estimate, 16 random bytes in hex have at least 90. */
const MIN_BITS = 80;

/** Whether a secret may sign tokens in production: it is not published, not a placeholder, and hard to guess. */
export const isStrongSecret = (secret: string): boolean =>
  !PUBLISHED.has(secret) && !PLACEHOLDER.test(secret) && estimateBits(secret) >= MIN_BITS;

/**
 * The estimated entropy in bits of a random text that looks like this one. The alphabet is the set of characters that
 * occur. Predictable characters do not count: runs (aaa), sequences (123, cba) and repeated triples. The estimate
 * cannot tell a sentence from random letters, so PLACEHOLDER lists words.
 */
export function estimateBits(secret: string): number {
  const codes = [...secret].map((character) => character.codePointAt(0) ?? 0);
  const seen = new Set<string>();
  let unforeseen = 0;
  codes.forEach((code, i) => {
    const triple = codes.slice(i - 2, i + 1).join();
    const step = code - codes[i - 1];
    const isRun = Math.abs(step) <= 1 && step === codes[i - 1] - codes[i - 2];
    if (i < 2 || !(isRun || seen.has(triple))) unforeseen++;
    if (i >= 2) seen.add(triple);
  });
  return unforeseen * Math.log2(new Set(codes).size || 1);
}

/**
 * The seed of everything random in tests, so that a change fails only by what it changed. `SEED=$RANDOM npm run test:deep`
 * looks further. Each title of such a test names its seed.
 */
export const SEED = Number(process.env.SEED ?? 1);

/** mulberry32: the same numbers, from 0 to below 1, for the same seed. */
export function fractions(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let x = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @returns a function that gives integers from 0 to below its argument, the same ones for the same seed */
export function generator(seed: number): (below: number) => number {
  const next = fractions(seed);
  return (below) => Math.floor(next() * below);
}

export type Random = ReturnType<typeof generator>;

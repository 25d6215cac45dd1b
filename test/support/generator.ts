import { generator as fractions } from './random';

/** @returns a function that gives integers from 0 to below its argument, the same ones for the same seed */
export function generator(seed: number): (below: number) => number {
  const next = fractions(seed);
  return (below) => Math.floor(next() * below);
}

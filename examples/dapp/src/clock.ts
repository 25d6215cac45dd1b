import { useEffect, useReducer } from 'preact/hooks';

/** How far the chain's time is ahead of ours, in ms. The chain of this machine can be moved forward. */
let ahead = 0;

/** The time that contracts go by, in milliseconds since 1970. */
export const chainNow = (): number => Date.now() + ahead;

/** @param seconds of the newest block */
export const setChainTime = (seconds: number | bigint): void =>
  void (ahead = Math.max(0, Number(seconds) * 1000 - Date.now()));

/** Seconds until then, by the chain's time; zero if it is over. */
export const secondsTo = (time: string): number =>
  Math.max(0, Math.round((Date.parse(time) - chainNow()) / 1000));

export function durationText(seconds: number): string {
  if (seconds >= 172_800) return `${Math.floor(seconds / 86_400)} days`;
  if (seconds >= 7_200) return `${Math.floor(seconds / 3_600)} hours`;
  if (seconds >= 120) return `${Math.floor(seconds / 60)} minutes`;
  return `${seconds} s`;
}

/** Renders the component again each second, while the time that it shows runs. */
export function useTicks(run: boolean): void {
  const [, tick] = useReducer<number, void>((ticks) => ticks + 1, 0);
  useEffect(() => {
    if (!run) return;
    const timer = setInterval(() => tick(), 1_000);
    return () => clearInterval(timer);
  }, [run]);
}

import { readFileSync, readdirSync } from 'node:fs';

/** The unit of times in /proc/stat and /proc/PID/stat. */
const TICK_US = 10_000;

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // the process has ended, or this is not Linux
  }
};

/** Fields of /proc/PID/stat after the state; the name before it may contain spaces. */
const statOf = (pid: string | number): number[] =>
  read(`/proc/${pid}/stat`)
    .replace(/^.*\) \S+ /s, '')
    .split(' ')
    .map(Number);
const [PARENT, ENDED_USER, ENDED_SYSTEM] = [0, 12, 13];

/** µs of CPU that a process with one thread has used. */
const usedUs = (pid: string | number): number => Number(read(`/proc/${pid}/schedstat`).split(' ')[0]) / 1000;

/** µs of CPU that a PostgreSQL server has used with all its processes, ended ones too. NaN where there is no /proc. */
export function serverCpuUs(pid: number): number {
  const own = statOf(pid);
  if (own.length < ENDED_SYSTEM) return NaN;
  const children = readdirSync('/proc').filter((each) => /^\d+$/.test(each) && statOf(each)[PARENT] === pid);
  return [pid, ...children].reduce<number>(
    (sum, each) => sum + usedUs(each),
    (own[ENDED_USER] + own[ENDED_SYSTEM]) * TICK_US,
  );
}

/** µs of CPU that the machine has had so far, and how much of it was used, here or by other virtual machines. */
export function machineCpuUs(): { all: number; used: number } {
  const [user, nice, system, idle, waiting, ...others] = read('/proc/stat')
    .split('\n', 1)[0]
    .split(/ +/)
    .slice(1, 9)
    .map((ticks) => Number(ticks) * TICK_US);
  const used = [user, nice, system, ...others].reduce((sum, each) => sum + each, 0);
  return { all: used + idle + waiting, used };
}

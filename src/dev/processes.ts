import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { existsSync, linkSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { read } from './files';

/** As Linux has it in /proc, or ps prints it elsewhere. Empty if there is no such process, or one that has begun to exit. */
export function commandOf(pid: number): string {
  try {
    if (existsSync('/proc/self/status')) return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', `${pid}`]).toString();
  } catch {
    return '';
  }
}

/**
 * Whether a process is gone, or a zombie without other threads. The command is empty as soon as the first thread has ended,
 * and the others may keep files and ports open for some milliseconds more.
 */
function hasClosed(pid: number): boolean {
  if (commandOf(pid) !== '') return false;
  const status = read(`/proc/${pid}/status`);
  return status === undefined || /^State:\s+[ZX][^]*^Threads:\s+[01]$/m.test(status);
}

/** Ends a process, by force if it needs more than `patience` ms, and waits until it has closed its files and ports. */
export async function end(pid: number, signal: NodeJS.Signals, patience = 10_000): Promise<void> {
  const send = (each: NodeJS.Signals): void => {
    try {
      process.kill(pid, each);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  send(signal);
  for (const forced = Date.now() + patience; !hasClosed(pid); await wait(20))
    if (Date.now() > forced) send('SIGKILL');
}

/** Ends a process that this one has started, if it has not ended. */
export const endChild = async (
  child: ChildProcess,
  signal: NodeJS.Signals,
  patience?: number,
): Promise<void> => (hasEnded(child) ? undefined : end(child.pid!, signal, patience));

export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

/** Runs a program of Node.js that ends with this process, even if that is killed. Ctrl-C in a terminal does not reach it. */
export const forkMortal = (program: string, args: string[], env = process.env): ChildProcess =>
  fork(program, args, {
    env,
    detached: true,
    execArgv: ['--import', 'data:text/javascript,process.on("disconnect", process.exit)'],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });

/** Processes that must not outlive this one, and the signal that ends each. */
const mortal = new Map<ChildProcess, NodeJS.Signals>();
/** Files that this process has claimed. */
const claimed = new Set<string>();
process.on('exit', () => {
  mortal.forEach((signal, child) => child.kill(signal));
  claimed.forEach((file) => rmSync(file, { force: true }));
});

export function endWithUs(child: ChildProcess, signal: NodeJS.Signals): void {
  mortal.set(child, signal);
  child.once('exit', () => mortal.delete(child));
}

/**
 * Writes a file that names this process, until it ends. The file of a process that is gone counts for nothing, nor does
 * one of another folder, which was copied.
 * @returns the process that has claimed the file already, if any, which may be this one
 */
export function claim(file: string): number | undefined {
  const place = realPathOf(file);
  if (claimed.has(place)) return process.pid;
  const kept = read(place);
  const [pid, of, ...command] = (kept ?? '').split('\n');
  // Process ids are reused, so the command has to match too, and our own id is that of an earlier process.
  const isHeld = of === place && command.join('\n') === commandOf(Number(pid)) && Number(pid) !== process.pid;
  if (isHeld && command.join() !== '') return Number(pid);
  // Another process may claim it at the same moment: only one makes the link, and the other looks again.
  const draft = `${place}.${process.pid}`;
  writeFileSync(draft, [process.pid, place, commandOf(process.pid)].join('\n'));
  try {
    if (kept !== undefined) rmSync(place, { force: true });
    linkSync(draft, place);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return claim(file);
    renameSync(draft, place); // Some file systems have no hard links.
  } finally {
    rmSync(draft, { force: true });
  }
  claimed.add(place);
  return undefined;
}

/** Takes back what this process has claimed. */
export function release(file: string): void {
  const place = realPathOf(file);
  if (claimed.delete(place)) rmSync(place, { force: true });
}

const realPathOf = (file: string): string => path.join(realpathSync(path.dirname(file)), path.basename(file));

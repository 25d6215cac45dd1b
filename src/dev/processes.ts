import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, linkSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { read } from './files';

/** What Linux has in a file of /proc, or ps prints elsewhere. Empty if there is no such process. */
function ask(pid: number, file: string, ...columns: string[]): string {
  try {
    if (existsSync('/proc/self/status')) return readFileSync(`/proc/${pid}/${file}`, 'utf8');
    return execFileSync('ps', ['-ww', ...columns.flatMap((each) => ['-o', each]), '-p', `${pid}`]).toString();
  } catch {
    return '';
  }
}

/** Empty if there is no such process, or only a zombie. */
export const commandOf = (pid: number): string => ask(pid, 'cmdline', 'command=');

/** The state is Z for a zombie and T for a stopped process. Undefined when there is no such process. */
export function statusOf(pid: number): { state: string; parent: number } | undefined {
  const text = ask(pid, 'status', 'stat=', 'ppid=');
  const found = /^State:\s+(\w)[^]*^PPid:\s+(\d+)/m.exec(text) ?? /^\s*(\w)\S*\s+(\d+)/.exec(text);
  return found ? { state: found[1], parent: Number(found[2]) } : undefined;
}

/** Ends a process, by force if it needs more than `patience` ms, and waits until it is gone. */
export async function end(pid: number, signal: NodeJS.Signals, patience = 10_000): Promise<void> {
  // A zombie has closed its files and ports.
  const runs = (): boolean => /[^ZX]/.test(statusOf(pid)?.state ?? '');
  const send = (each: NodeJS.Signals): void => {
    try {
      process.kill(pid, each);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  send(signal);
  for (const forced = Date.now() + patience; runs(); await wait(20)) if (Date.now() > forced) send('SIGKILL');
}

/** Ends a process that this one has started, if it has not ended. */
export const endChild = async (
  child: ChildProcess,
  signal: NodeJS.Signals,
  patience?: number,
): Promise<void> => (hasEnded(child) ? undefined : end(child.pid!, signal, patience));

export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

/** Files that this process has claimed. */
const ours = new Set<string>();
/** Removes such a file, unless it is another process's by now: its folder may have been removed and made again. */
const giveBack = (place: string): void => {
  if (read(place)?.startsWith(`${process.pid}\n`)) rmSync(place, { force: true });
};
/** Processes that must not outlive this one, and the signal that ends each. */
const mortal = new Map<ChildProcess, NodeJS.Signals>();
process.on('exit', () => {
  mortal.forEach((signal, child) => child.kill(signal));
  ours.forEach(giveBack);
});

export function endWithUs(child: ChildProcess, signal: NodeJS.Signals): void {
  mortal.set(child, signal);
  child.once('exit', () => mortal.delete(child));
}

/**
 * Creates a file that names this process, and keeps it until the process ends or releases it. The file of a process
 * that is gone, or of another folder, counts for nothing.
 * @returns the process that has claimed the file already, if any, which may be this one
 */
export function claim(file: string): number | undefined {
  const place = placeOf(file);
  if (ours.has(place)) return process.pid;
  const draft = `${place}.${process.pid}`;
  writeFileSync(draft, `${process.pid}\n${place}\n${commandOf(process.pid)}`, { mode: 0o644 });
  try {
    // link() never replaces a file, and the file is whole as soon as it is there.
    while (!linked(draft, place)) {
      // One process at a time removes what counts for nothing: a second one could remove the claim of the first.
      const removal = `${place}.removal`;
      const other = holderOf(place) ?? claim(removal);
      if (other !== undefined) return other;
      if (existsSync(place) && holderOf(place) === undefined) rmSync(place, { force: true });
      release(removal);
    }
  } finally {
    rmSync(draft);
  }
  ours.add(place);
  return undefined;
}

export function release(file: string): void {
  const place = placeOf(file);
  if (ours.delete(place)) giveBack(place);
}

/** The folder may be gone when the file is released. */
function placeOf(file: string): string {
  const dir = path.dirname(path.resolve(file));
  return path.join(existsSync(dir) ? realpathSync(dir) : dir, path.basename(file));
}

function linked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
}

/** Process ids are reused, so the command has to match too, and our own id is that of an earlier process. */
function holderOf(file: string): number | undefined {
  const [pid, place, ...rest] = (read(file) ?? '').split('\n');
  // A command may have lines of its own.
  const command = rest.join('\n');
  const isHeld = place === file && command !== '' && commandOf(Number(pid)) === command;
  return isHeld && Number(pid) !== process.pid ? Number(pid) : undefined;
}

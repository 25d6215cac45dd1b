import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** Empty if there is no such process, or only a zombie. */
export function commandOf(pid: number): string {
  try {
    if (existsSync('/proc/self/cmdline')) return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', `${pid}`], { encoding: 'utf8' });
  } catch {
    return '';
  }
}

/** The parent of a process; undefined when there is no such process. */
export function parentOf(pid: number): number | undefined {
  try {
    if (existsSync('/proc/self/status'))
      return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    return Number(execFileSync('ps', ['-o', 'ppid=', '-p', `${pid}`], { encoding: 'utf8' }));
  } catch {
    return undefined;
  }
}

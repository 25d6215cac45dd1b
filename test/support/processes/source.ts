import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Arguments with which Node runs TypeScript: before a file of it, or before `-e`. */
export const FROM_SOURCE = ['-C', 'source', '-r', require.resolve('./typescript')];

/** Runs a command of `src` as an operator does. Rejects if it does not end with 0. */
export const command = (
  entry: string,
  args: string[],
  settings: Record<string, string>,
): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, [...FROM_SOURCE, join(__dirname, '../../../src', entry), ...args], {
    env: { PATH: process.env.PATH, ...settings },
  });

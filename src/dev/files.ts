import { readFileSync } from 'node:fs';
import path from 'node:path';

const ABOVE = path.join(__dirname, '../..');
/** The folder of the repository, of the sources and of the build. */
export const REPOSITORY = path.basename(ABOVE) === 'dist' ? path.dirname(ABOVE) : ABOVE;

/** Undefined when there is no such file: others may remove it at any moment. */
export function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Undefined when there is no such file, or not a whole one. */
export function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch {
    return undefined;
  }
}

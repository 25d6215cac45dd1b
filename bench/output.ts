import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** A Markdown table whose first column is aligned left, the others right. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column].length)),
  );
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, i) => (i ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join(' | ')} |`;
  const rule = widths.map((width, i) => (i ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

const FRAMES = 30;

/** Shows the progress of a long task on standard error. Without a terminal it prints only the title. */
export class Progress {
  private done = 0;

  constructor(
    private readonly title: string,
    private readonly total: number,
  ) {
    if (!process.stderr.isTTY) process.stderr.write(`${title}\n`);
    this.draw('');
  }

  /** @param what is being done now */
  step(what: string, steps = 1): void {
    this.done += steps;
    this.draw(what);
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  }

  private draw(what: string): void {
    if (!process.stderr.isTTY) return;
    const share = Math.min(1, this.done / this.total);
    const filled = Math.round(share * FRAMES);
    const bar = '█'.repeat(filled) + '░'.repeat(FRAMES - filled);
    const text = `${this.title} ${bar} ${Math.round(share * 100)}% ${what}`;
    process.stderr.write(`\r\x1b[K${text.slice(0, (process.stderr.columns || 80) - 1)}`);
  }
}

export const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** What a run may measure other than all of this build. */
export interface Limited {
  quick?: boolean;
  /** Only what has this in its name. */
  only?: string;
  /** The script of another build. */
  service?: string;
}

const KEPT = path.join(__dirname, '.data');

/** Writes results as they come, so that a run that is interrupted leaves what it has measured. */
export function keep(file: string, results: object): void {
  mkdirSync(KEPT, { recursive: true });
  writeFileSync(path.join(KEPT, file), `${JSON.stringify(results, null, 2)}\n`);
}

/** Puts the kept results among the committed ones if they are of a whole run of this build. */
export function publish(file: string, { quick, only, service }: Limited = {}): void {
  const kept = path.join(KEPT, file);
  if (quick || only || service) return say(`Not a whole run of this build: only written to ${kept}`);
  copyFileSync(kept, path.join(__dirname, file));
  say(`Written to bench/${file}`);
}

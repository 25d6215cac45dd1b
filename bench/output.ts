import { writeFileSync } from 'node:fs';
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

/** Writes the results of a whole run. Those of a part, or of shorter runs, would take the place of what is compared. */
export function keep(
  file: string,
  results: object,
  { quick, only }: { quick?: boolean; only?: string },
): void {
  if (quick || only) return say('Only a whole run with full rounds is written to a file: this one is not.');
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  say(`Written to ${path.relative(process.cwd(), file)}`);
}

import { readFileSync, writeFileSync } from 'node:fs';

/** What a fault did; without figures it was left out. */
export interface Row {
  fault: string;
  /** Seconds. */
  pause?: string;
  acknowledged?: number;
  lost?: number;
  doubled?: number;
  half?: number;
  refused?: number;
  conflicts?: number;
  doneAllTheSame?: number;
}

const COLUMNS: [keyof Row, string][] = [
  ['fault', 'fault'],
  ['pause', 'longest pause of writes, s'],
  ['acknowledged', 'pools acknowledged'],
  ['lost', 'lost'],
  ['doubled', 'doubled'],
  ['half', 'half'],
  ['refused', 'answers 503'],
  ['conflicts', 'answers 409'],
  ['doneAllTheSame', 'refused, but done'],
];
const MARKS = ['<!-- faults: written by the test -->', '<!-- end of faults -->'];

export function table(rows: Row[]): string {
  const lines = [
    COLUMNS.map(([, title]) => title),
    COLUMNS.map(([field]) => (field === 'fault' ? '---' : '---:')),
    ...rows.map((row) => COLUMNS.map(([field]) => `${row[field] ?? 'not tried'}`)),
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/**
 * Prints the table, and writes it between the marks of the document that FAULTS_TABLE names.
 * @param passed whether every fault was tried, and did no harm; otherwise nothing is written
 */
export function publish(rows: Row[], passed: boolean): void {
  process.stdout.write(`\n${table(rows)}\n`);
  const file = process.env.FAULTS_TABLE;
  if (!file || !passed) return;
  const text = readFileSync(file, 'utf8');
  const [from, to] = MARKS.map((mark) => text.indexOf(mark));
  if (from < 0 || to < from) throw new Error(`${file} lacks the marks of the table: ${MARKS.join(' … ')}`);
  writeFileSync(file, `${text.slice(0, from)}${MARKS[0]}\n\n${table(rows)}\n\n${text.slice(to)}`);
}

/** A table as prettier aligns it. A cell's `|` has to be escaped. */
export function table(head: string[], rows: string[][]): string {
  const all = [head, ...rows];
  const widths = head.map((_, at) => Math.max(3, ...all.map((row) => widthOf(row[at]))));
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, at) => cell + ' '.repeat(widths[at] - widthOf(cell))).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

const widthOf = (text: string): number => [...text].length;

/**
 * A document with what is generated between the marks `<!-- name: … -->` and `<!-- end of name -->`, which stay.
 * @throws Error when it has no such marks
 */
export function between(name: string, document: string, generated: string): string {
  const marked = new RegExp(`(<!-- ${name}: [^>]*-->\n)[\\s\\S]*?(<!-- end of ${name} -->)`);
  if (!marked.test(document)) throw new Error(`a document lacks the marks of ${name}`);
  return document.replace(marked, (_, start: string, end: string) => `${start}\n${generated}\n\n${end}`);
}

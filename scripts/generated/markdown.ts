/** A table without padding, so that a longer word changes one line. A cell's `|` has to be escaped. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/**
 * A document with what is generated between the marks `<!-- name: … -->` and `<!-- end of name -->`, which stay.
 * @throws Error when it has no such marks
 */
export function between(name: string, document: string, generated: string): string {
  const marked = new RegExp(`(<!-- ${name}: [^>]*-->\n)[\\s\\S]*?(<!-- end of ${name} -->)`);
  if (!marked.test(document)) throw new Error(`a document lacks the marks of ${name}`);
  return document.replace(marked, (_, start: string, end: string) => `${start}\n${generated}\n\n${end}`);
}

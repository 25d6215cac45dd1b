/** Fields of rows, each as the array that a statement unnests. */
export function columnsOf<Row, Name extends keyof Row>(rows: Iterable<Row>, ...names: Name[]): Row[Name][][] {
  // An iterator can be gone through once only.
  const all = [...rows];
  return names.map((name) => all.map((row) => row[name]));
}

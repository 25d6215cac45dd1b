/** A node of a plan, as `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)` has it. */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
  Plans?: PlanNode[];
}

/** Runs the statement by `query`. @returns the nodes of its plan, the root first */
export async function planOf(
  query: (text: string, values?: unknown[]) => Promise<unknown[]>,
  text: string,
  values: unknown[] = [],
): Promise<PlanNode[]> {
  const rows = await query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values);
  const [row] = rows as { 'QUERY PLAN': [{ Plan: PlanNode }] }[];
  const all = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(all)];
  return all(row['QUERY PLAN'][0].Plan);
}

/** Pages of PostgreSQL's cache that a node and those below it touch. */
export const pagesOf = (node: PlanNode): number => node['Shared Hit Blocks'] + node['Shared Read Blocks'];

/** Rows of the table that the plan reads. */
export const rowsRead = (plan: PlanNode[], table: string): number =>
  plan
    .filter((node) => node['Relation Name'] === table)
    .reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0);

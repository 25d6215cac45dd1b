import type { Client } from 'pg';

/** A node of a plan, as `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)` has it. */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Rows Removed by Join Filter'?: number;
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
  return nodesOf(row['QUERY PLAN'][0].Plan);
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/**
 * Lists the nodes of all plans that the connection executes from now on, also within functions. The connection has to be a
 * superuser's.
 */
export async function planNodes(client: Client): Promise<PlanNode[]> {
  const nodes: PlanNode[] = [];
  client.on('notice', ({ message = '' }) => {
    if (!message.startsWith('duration: ')) return;
    const { Plan } = JSON.parse(message.slice(message.indexOf('{'))) as { Plan: PlanNode };
    nodes.push(...nodesOf(Plan));
  });
  const settings = {
    ...{ log_min_duration: 0, log_nested_statements: 'on', log_analyze: 'on', log_timing: 'off' },
    ...{ log_format: 'json', log_level: 'notice' },
  };
  await client.query("LOAD 'auto_explain'");
  for (const [name, value] of Object.entries(settings))
    await client.query(`SET auto_explain.${name} = '${value}'`);
  return nodes;
}

/** Pages of PostgreSQL's cache that a node and those below it touch. */
export const pagesOf = (node: PlanNode): number => node['Shared Hit Blocks'] + node['Shared Read Blocks'];

/** Rows of the table that the plan reads. */
export const rowsRead = (plan: PlanNode[], table: string): number =>
  plan
    .filter((node) => node['Relation Name'] === table)
    .reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], 0);

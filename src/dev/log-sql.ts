import { tracingChannel } from 'node:diagnostics_channel';
import type { StatementCall } from '#platform/database/database';
import { DatabaseClient } from '#platform/postgres/database-pool';

// Preloaded into API and indexer by `LOG_SQL=1 npm start`: a line for each statement, without its values.

const MAX_TEXT = 100;

function print(name: string, begun: number, rows: unknown, error?: unknown): void {
  const outcome = error
    ? `failed: ${(error as { code?: string }).code ?? (error as Error).name}`
    : `${(rows as number | null) ?? 0} rows`;
  const ms = (performance.now() - begun).toFixed(1).padStart(8);
  process.stdout.write(`SQL ${ms} ms  ${name}  ${outcome}\n`);
}

const begun = new WeakMap<StatementCall, number>();
tracingChannel<unknown, StatementCall>('database:statement').subscribe({
  start: (call) => void begun.set(call, performance.now()),
  asyncEnd: (call) =>
    print(call.name, begun.get(call)!, (call.result as unknown[] | undefined)?.length, call.error),
  end: () => undefined,
  asyncStart: () => undefined,
  error: () => undefined,
});

// What TypeORM sends has no name, so its text is shown. Named statements do not come by here.
type Query = (...args: unknown[]) => unknown;
const send = Reflect.get<object, string>(DatabaseClient.prototype, 'query') as Query;
function query(this: DatabaseClient, ...args: unknown[]): unknown {
  const sent = performance.now();
  const result: unknown = Reflect.apply(send, this, args);
  if (result instanceof Promise && typeof args[0] === 'string') {
    const text = args[0].replace(/\s+/g, ' ').trim();
    const name = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
    void result.then(
      ({ rowCount }: { rowCount: number | null }) => print(name, sent, rowCount),
      (error: unknown) => print(name, sent, undefined, error),
    );
  }
  return result;
}
Object.assign(DatabaseClient.prototype, { query });

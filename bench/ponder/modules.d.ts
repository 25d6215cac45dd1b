/** The parts of ponder that its application in `ponder/` uses: it is installed beside the repository, when it is measured. */
declare module 'ponder' {
  type Column = Record<'primaryKey' | 'notNull', () => Column>;
  type Columns = Record<string, Column>;
  type Types = Record<'text' | 'hex' | 'bigint' | 'integer', () => Column>;

  export function createConfig(config: object): object;
  export function onchainTable<T extends Columns>(
    name: string,
    columns: (types: Types) => T,
    more?: (columns: T) => Record<string, object>,
  ): T;
  export function primaryKey(of: { columns: Column[] }): object;
  export function index(): { on(column: Column): object };
}

declare module 'ponder:registry' {
  interface Rows {
    onConflictDoUpdate(change: (row: any) => object): Promise<void>;
  }
  interface Event {
    id: string;
    args: Record<string, any>;
    block: { number: bigint; timestamp: bigint };
    transaction: { hash: string };
  }
  interface Context {
    db: { insert(table: object): { values(row: object): Rows & Promise<void> } };
  }
  export type Handler = (happened: { event: Event; context: Context }) => Promise<void>;
  export const ponder: { on(event: string, handler: Handler): void };
}

/** ponder resolves it to `ponder.schema.ts`. */
declare module 'ponder:schema' {
  export const transactions: object;
  export const positions: object;
  export const totals: object;
}

declare module 'hono' {
  export class Hono {}
}

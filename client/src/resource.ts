import type { paths } from './schema.js';
import type { Api, Page, RequestOptions } from './types.js';

type Reading<Path extends keyof paths> = NonNullable<paths[Path]['get']>;
type DataOf<Path extends keyof paths> =
  Reading<Path> extends { responses: { 200: { content: { 'application/json': { data: infer Data } } } } }
    ? Data
    : never;
type RowOf<Path extends keyof paths> = DataOf<Path> extends readonly (infer Row)[] ? Row : never;
type QueryOf<Path extends keyof paths> = NonNullable<Reading<Path>['parameters']['query']>;

type List<Query, T> = (query?: Query, options?: RequestOptions) => Promise<Page<T>>;

/** Endpoints of one subject. A path says what is sent and answered; the compiler takes that from the schema. */
export class Resource {
  constructor(protected readonly api: Api) {}

  /** What there is only one of. */
  protected only<Path extends keyof paths>(path: Path) {
    return async (options?: RequestOptions): Promise<DataOf<Path>> =>
      (await this.read(path, {}, options)).data as DataOf<Path>;
  }

  /** One of several, by whatever the path calls it. */
  protected one<Path extends keyof paths>(path: Path) {
    return async (id: string, options?: RequestOptions): Promise<DataOf<Path>> =>
      (await this.read(path, { path: { id, hash: id } }, options)).data as DataOf<Path>;
  }

  /** A page of a list. */
  protected listOf<Path extends keyof paths>(path: Path, id?: string): List<QueryOf<Path>, RowOf<Path>> {
    return async (query, options) =>
      (await this.read(path, { query, path: { id } }, options)) as Page<RowOf<Path>>;
  }

  private async read(
    path: keyof paths,
    params: object,
    options?: RequestOptions,
  ): Promise<{ data: unknown }> {
    return (await this.api.GET(path as '/pools', { params, signal: options?.signal })).data!;
  }
}

/** Yields every item of a list and fetches pages as needed. If the list grows meanwhile, some items may repeat. */
export async function* byPages<Query extends { page?: number; limit?: number }, T>(
  list: List<Query, T>,
  options?: RequestOptions,
): AsyncGenerator<T, void, undefined> {
  for (let page = 1; ; page++) {
    const { data, pagination } = await list({ limit: 100, page } as Query, options);
    yield* data;
    if (!pagination || page >= pagination.pages) return;
  }
}

/** The same with cursors: every page costs the same, however far into the list, and no item repeats. */
export const byCursors = <Query extends { after?: string; limit?: number }, T>(list: List<Query, T>) =>
  async function* (
    query?: Omit<Query, 'page' | 'after'>,
    options?: RequestOptions,
  ): AsyncGenerator<T, void, undefined> {
    let after: string | undefined;
    do {
      const { data, next } = await list({ limit: 100, ...query, after } as Query, options);
      yield* data;
      after = next ?? undefined;
    } while (after !== undefined);
  };

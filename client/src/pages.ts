import type { Page } from './types.js';

/** Yields every item of a list and fetches pages as needed. If the list grows meanwhile, some items may repeat. */
export async function* byPages<T>(
  fetchPage: (page: number) => Promise<Page<T>>,
): AsyncGenerator<T, void, undefined> {
  for (let page = 1; ; page++) {
    const { data, pagination } = await fetchPage(page);
    yield* data;
    if (!pagination || page >= pagination.pages) return;
  }
}

/** The same with cursors: every page costs the same, however far into the list, and no item repeats. */
export async function* byCursors<T>(
  fetchAfter: (after: string | undefined) => Promise<Page<T>>,
): AsyncGenerator<T, void, undefined> {
  let after: string | undefined;
  do {
    const { data, next } = await fetchAfter(after);
    yield* data;
    after = next ?? undefined;
  } while (after !== undefined);
}

import type { Page } from './types.js';

/** Every item of a list, page by page as they are asked for. A list that grows meanwhile may repeat some. */
export async function* byPages<T>(
  fetchPage: (page: number) => Promise<Page<T>>,
): AsyncGenerator<T, void, undefined> {
  for (let page = 1; ; page++) {
    const { data, pagination } = await fetchPage(page);
    yield* data;
    if (!pagination || page >= pagination.pages) return;
  }
}

/** The same by cursors: each page costs the same, however far, and none repeats what another had. */
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

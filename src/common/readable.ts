import { forbidden, notFound } from './errors';
import { UUID } from './rules';

/**
 * What a statement about one thing answers: no row when there is no such thing, `data` null when the caller may not
 * read it, else the payload as JSON text.
 */
export interface ReadableRow {
  data: string | null;
}

/** @throws ApiError 404 where there is nothing, 403 where the caller may not read it */
export function readable<Row extends ReadableRow>(row: Row | undefined): Row & { data: string } {
  if (!row) throw notFound();
  if (row.data === null) throw forbidden();
  return row as Row & { data: string };
}

/**
 * Ids are opaque to clients, so one of another form is simply one that does not exist.
 * @throws ApiError 404
 */
export function knownForm(id: string, form = UUID): string {
  if (!form.test(id)) throw notFound();
  return id;
}

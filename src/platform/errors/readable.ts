import { UUID } from '#values/rules';
import { forbidden, notFound } from './errors';

/**
 * What a statement about one thing returns: no row when it does not exist, `data` null when the caller may not read
 * it, otherwise the payload as JSON text.
 */
export interface ReadableRow {
  data: string | null;
}

/** @throws ApiError 404 when there is no row, 403 when the caller may not read it */
export function readable<Row extends ReadableRow>(row: Row | undefined): Row & { data: string } {
  if (!row) throw notFound();
  if (row.data === null) throw forbidden();
  return row as Row & { data: string };
}

/**
 * Ids are opaque to clients, so an id of another form simply does not exist.
 * @throws ApiError 404
 */
export function knownForm(id: string, form = UUID): string {
  if (!form.test(id)) throw notFound();
  return id;
}

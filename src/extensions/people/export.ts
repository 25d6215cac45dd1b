import type { TypedStatement } from '#platform/postgres/statement';
import { SECTIONS, type Section } from './export.sql';

export interface Person {
  /** Undefined for an address that never signed in. */
  userId?: string;
  address: string;
}

/** Where an export goes on: in a section, behind a key. */
export interface ExportPlace {
  section: number;
  after: string[];
}

type Read = <Parameters extends object, Row extends object>(
  statement: TypedStatement<Parameters, Row>,
  values: Parameters,
) => Promise<Row[]>;

/**
 * The next rows that the service keeps of a person, as JSON texts. Each statement is short and reads few rows; the rows
 * are those of the moments in which they are read.
 * @returns also where the next page begins; undefined at the end
 */
export async function exportPage(
  { userId, address }: Person,
  from: ExportPlace | undefined,
  limit: number,
  read: Read,
): Promise<{ rows: string[]; next?: ExportPlace }> {
  const rows: string[] = [];
  let place: ExportPlace | undefined = from ?? begin(0);
  while (place && rows.length < limit) {
    const { kind, by, statement }: Section = SECTIONS[place.section];
    const who = by === 'user' ? userId : address;
    const most = limit - rows.length;
    const found = who === undefined ? [] : await read(statement, { who, after: place.after, limit: most });
    for (const { data } of found) rows.push(`{"kind":"${kind}","data":${data}}`);
    place = found.length < most ? begin(place.section + 1) : { ...place, after: found.at(-1)!.key };
  }
  return { rows, next: place };
}

const begin = (section: number): ExportPlace | undefined =>
  section < SECTIONS.length ? { section, after: SECTIONS[section].first } : undefined;

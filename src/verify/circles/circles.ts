import type { Value } from '#verify/checks/connection';
import { DerivedComparison } from '#verify/checks/derived';
import { LOCK_CURSOR } from '#verify/checks/lottery.sql';
import { type CircleEvent, CircleModel, type Row, type Rows } from './circle-model';
import * as sql from './circles.sql';

interface Key {
  contract: string;
  circle: string;
}
interface OfPool extends Key {
  pool: string;
}
const nameOf = ({ contract, circle }: Key): string => `${contract} ${circle}`;
const parameters = (keys: Key[]): [string[], string[]] => [
  keys.map(({ contract }) => contract),
  keys.map(({ circle }) => circle),
];

/** Compares what is derived, the circles of pools too. */
export class CircleComparison extends DerivedComparison {
  override async positions(ids: string[]): Promise<void> {
    const clear = ids.filter((id) => !this.findings.isDisputed(id));
    if (clear.length > 0) await this.circles(clear);
    await super.positions(ids);
  }

  override async formerOfNone(): Promise<void> {
    await super.formerOfNone();
    const found = await this.rows<Value & Key & { table: string }>(sql.OF_NONE);
    const remove = async (): Promise<void> => {
      await this.client.query(LOCK_CURSOR);
      for (const statement of sql.CLEAR) await this.client.query(statement, parameters(found));
    };
    for (const table of sql.TABLE_NAMES)
      await this.report(
        table,
        found.filter((each) => each.table === table),
        remove,
      );
  }

  private async circles(ids: string[]): Promise<void> {
    const keys = await this.rows<OfPool>(sql.CIRCLES_OF_POOLS, ids);
    if (keys.length === 0) return;
    this.findings.count('circles', keys.length);
    // In one statement each, so what changes meanwhile is looked at once more.
    let differing = await this.differing(keys);
    if (differing.size > 0) differing = await this.differing(keys);
    for (const table of sql.TABLE_NAMES)
      await this.report(table, differing.get(table) ?? [], () => this.remake(keys));
  }

  private async differing(keys: Key[]): Promise<Map<string, Value[]>> {
    await this.client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    try {
      const differing = new Map<string, Value[]>();
      const wanted = await this.wanted(keys);
      for (const table of sql.TABLE_NAMES) {
        const { key, columns } = sql.TABLES[table];
        const idOf = (row: Row): string =>
          [row.contract, row.circle_id, ...key.map((each) => row[each])].join(' ');
        const kept = await this.rows<Row>(sql.stored(table), ...parameters(keys));
        const rows = [wanted[table], kept].map((some) => new Map(some.map((row) => [idOf(row), row])));
        for (const id of new Set(rows.flatMap((some) => [...some.keys()]))) {
          const [right, is] = rows.map((some) => some.get(id));
          for (const column of columns)
            if ((right?.[column] ?? null) !== (is?.[column] ?? null) || !right !== !is)
              differing.set(table, [
                ...(differing.get(table) ?? []),
                { id, column, kept: is?.[column] ?? null, recount: right?.[column] ?? null },
              ]);
        }
      }
      return differing;
    } finally {
      await this.client.query('ROLLBACK');
    }
  }

  /** The rows that applied events make. */
  private async wanted(keys: Key[]): Promise<Rows> {
    const models = new Map(keys.map((key) => [nameOf(key), new CircleModel()]));
    for (const event of await this.rows<CircleEvent>(sql.EVENTS, ...parameters(keys)))
      models.get(nameOf(event))!.apply(event);
    const all = [...models.values()].map((model) => model.rows());
    return {
      circles: all.flatMap(({ circles }) => circles),
      circle_members: all.flatMap((rows) => rows.circle_members),
      circle_rounds: all.flatMap((rows) => rows.circle_rounds),
    };
  }

  private async remake(keys: Key[]): Promise<void> {
    await this.client.query(LOCK_CURSOR);
    const wanted = await this.wanted(keys);
    for (const statement of sql.CLEAR) await this.client.query(statement, parameters(keys));
    for (const table of sql.TABLE_NAMES)
      await this.client.query(sql.insert(table), [JSON.stringify(wanted[table])]);
  }
}

import type { Client } from 'pg';
import type { VerifyMetrics } from './metrics';

/** How far a walk has come. */
interface Place {
  after: string;
  /** Keys of the pass under way. */
  done: number;
  /** Milliseconds; 0: not yet. */
  coveredAt: number;
}

/** How far each walk has come. It is stored, so that restarts do not keep its end from ever being reached. */
export class Places {
  private readonly places = new Map<string, Place>();

  constructor(private readonly metrics: VerifyMetrics) {}

  async load(client: Client): Promise<void> {
    const { rows } = await client.query<Place & { name: string }>(
      `SELECT name, after, done::float8, coalesce(extract(epoch FROM covered_at) * 1000, 0)::float8 AS "coveredAt"
       FROM verify_walks`,
    );
    for (const { name, ...place } of rows) this.places.set(name, place);
  }

  after(name: string, first: string): string {
    return this.places.get(name)?.after ?? first;
  }

  /**
   * Notes that a walk has moved on.
   * @param after null: it has come to its end, and starts over
   * @param total about how many keys there are
   */
  move(name: string, keys: number, after: string | null, first: string, total: number): void {
    const before = this.places.get(name);
    const done = (before?.done ?? 0) + keys;
    const coveredAt = after === null ? Date.now() : (before?.coveredAt ?? 0);
    this.places.set(name, { after: after ?? first, done: after === null ? 0 : done, coveredAt });
    this.metrics.covered(name, after === null ? 1 : Math.min(0.99, done / total), coveredAt / 1000);
  }

  /** The connection writes nothing else. */
  async keep(client: Client): Promise<void> {
    const rows = [...this.places].map(([name, place]) => ({ name, ...place }));
    await client.query('BEGIN READ WRITE');
    try {
      await client.query(KEEP, [JSON.stringify(rows)]);
    } finally {
      await client.query('COMMIT');
    }
  }
}

const KEEP = `
  INSERT INTO verify_walks (name, after, done, covered_at)
  SELECT name, after, done, to_timestamp(nullif("coveredAt", 0) / 1000)
  FROM json_to_recordset($1::json) AS w(name text, after text, done bigint, "coveredAt" float8)
  ON CONFLICT ON CONSTRAINT verify_walks_pkey DO UPDATE
    SET after = excluded.after, done = excluded.done, covered_at = excluded.covered_at`;

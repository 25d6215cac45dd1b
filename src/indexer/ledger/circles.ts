import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import * as sql from './circles.sql';

/** The contract counts its circles. */
export interface CircleKey {
  contract: string;
  circleId: string;
}

interface OfCircle {
  contract: string;
  circleId: string | null;
}

/** Each circle once. */
export function circlesOf(events: OfCircle[]): CircleKey[] {
  const circles = new Map<string, CircleKey>();
  for (const { contract, circleId } of events)
    if (circleId !== null) circles.set(`${contract} ${circleId}`, { contract, circleId });
  return [...circles.values()];
}

/**
 * Rebuilds circles from all their applied events, which have to be in chain_events already. A circle has at most 32
 * members and rounds, and so few events that nothing has to be added up on the way, or taken back.
 */
export async function makeCircles(client: Client, circles: CircleKey[]): Promise<void> {
  if (circles.length === 0) return;
  const keys = columnsOf(circles, 'contract', 'circleId');
  await client.query(sql.DELETE_CIRCLES, keys);
  await client.query(sql.MAKE_CIRCLES, keys);
}

/** Rebuilds the circles of pools, by what is stored of them and by their events. */
export async function makeCirclesOf(client: Client, pools: string[]): Promise<void> {
  const { rows } = await client.query<CircleKey>(sql.CIRCLES_OF_POOLS, [pools]);
  await makeCircles(client, rows);
}

/** The members of the circles of pools, by the pool's id as 32 hex digits. */
export async function membersOf(client: Client, pools: string[]): Promise<Map<string, string[]>> {
  const { rows } = await client.query<{ pool: string; members: string[] }>(sql.MEMBERS_OF_POOLS, [pools]);
  return new Map(rows.map(({ pool, members }) => [pool, members]));
}

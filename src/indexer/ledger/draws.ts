import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import type { DrawKind } from '#ledger/adapters/happening';
import type { ChainEvent } from '#indexer/reading/decode';
import { DRAW_CHANGES, type Decision, type EventOutcome, isDrawKind } from './decide';
import * as sql from './draws.sql';

/** Draw ids are unique within a contract only. */
interface DrawKey {
  contract: string;
  drawId: string;
}

/** Events that were taken back. */
export interface Undone {
  contract: string;
  drawId: string | null;
  circleId: string | null;
  /** Set for events of draws. */
  account: string | null;
  outcome: EventOutcome;
  count: number;
}

const keyOf = ({ contract, drawId }: DrawKey): string => `${contract} ${drawId}`;
const once = (draws: DrawKey[]): DrawKey[] => [...new Map(draws.map((each) => [keyOf(each), each])).values()];
const isDrawEvent = (event: ChainEvent): event is ChainEvent & { drawId: string; kind: DrawKind } =>
  event.drawId !== null && isDrawKind(event.kind);

/** Each draw once. A draw whose events were all refused has no row. */
export const drawsOf = (undone: Undone[]): DrawKey[] =>
  once(
    undone.flatMap(({ contract, drawId, outcome }) =>
      drawId !== null && outcome === 'APPLIED' ? { contract, drawId } : [],
    ),
  );

const keys = (draws: DrawKey[]): string[][] => columnsOf(draws, 'contract', 'drawId');

/** Updates draws with applied events, which have to be in chain_events already. */
export async function applyToDraws(client: Client, decisions: Decision[]): Promise<void> {
  const applied = decisions.flatMap(({ event, outcome }) =>
    outcome === 'APPLIED' && isDrawEvent(event) ? { ...event, change: DRAW_CHANGES[event.kind] } : [],
  );
  if (applied.length === 0) return;
  // Events from before the opening found no row to be added to.
  const opened = once(applied.filter(({ change }) => change === 'draw'));
  await rebuildDraws(client, opened);
  const made = new Set(opened.map(keyOf));
  const added = applied.filter((event) => event.change !== 'stage' && !made.has(keyOf(event)));
  if (added.length > 0)
    await client.query(
      sql.ADD_TO_DRAWS,
      columnsOf(added, 'contract', 'drawId', 'account', 'change', 'amount'),
    );
  await client.query(sql.SET_STAGES, keys(once(applied)));
}

/**
 * Computes draws again from all their events. Undoing single events gave wrong results in random tests.
 * @param accounts that have lost or gained events; null if any account may have
 */
export async function rebuildDraws(
  client: Client,
  draws: DrawKey[],
  accounts: (string | null)[] | null = null,
): Promise<void> {
  if (draws.length === 0) return;
  for (const statement of [sql.DELETE_TICKETS, sql.MAKE_TICKETS])
    await client.query(statement, [...keys(draws), accounts]);
  for (const statement of [sql.DELETE_DRAWS, sql.MAKE_DRAWS, sql.SET_STAGES])
    await client.query(statement, keys(draws));
}

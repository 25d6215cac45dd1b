import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
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

/** Each draw once. A draw whose events were all refused has no row. */
export const drawsOf = (undone: Undone[]): DrawKey[] => {
  const draws = new Map<string, DrawKey>();
  for (const { contract, drawId, outcome } of undone)
    if (drawId !== null && outcome === 'APPLIED') draws.set(`${contract} ${drawId}`, { contract, drawId });
  return [...draws.values()];
};

/** What an account did in a draw, in total. */
const nothing = () => ({ tickets: 0n, paidIn: 0n, refunded: 0n });
type Sums = ReturnType<typeof nothing>;

interface Change extends DrawKey {
  opened: boolean;
  /** By account. */
  sums: Map<string, Sums>;
}

const keys = (draws: DrawKey[]): string[][] => columnsOf(draws, 'contract', 'drawId');

/** Updates draws with applied events, which have to be in chain_events already. */
export async function applyToDraws(client: Client, decisions: Decision[]): Promise<void> {
  const changes = changesOf(decisions);
  if (changes.length === 0) return;
  // Events from before the opening found no row to be added to.
  await rebuildDraws(
    client,
    changes.filter(({ opened }) => opened),
  );
  const added = changes
    .filter(({ opened }) => !opened)
    .flatMap(({ contract, drawId, sums }) =>
      [...sums].map(([account, sum]) => ({ contract, drawId, account, ...sum })),
    );
  if (added.length > 0)
    await client.query(sql.ADD_TO_DRAWS, [
      ...keys(added),
      ...columnsOf(added, 'account', 'tickets', 'paidIn', 'refunded'),
    ]);
  await client.query(sql.SET_STAGES, keys(changes));
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

function changesOf(decisions: Decision[]): Change[] {
  const changes = new Map<string, Change>();
  for (const { event, outcome } of decisions) {
    if (event.drawId === null || outcome !== 'APPLIED') continue;
    const { contract, drawId, kind } = event;
    if (!isDrawKind(kind)) continue;
    const key = `${contract} ${drawId}`;
    let change = changes.get(key);
    if (!change) {
      change = { contract, drawId, opened: false, sums: new Map() };
      changes.set(key, change);
    }
    const changed = DRAW_CHANGES[kind];
    if (changed === 'draw') change.opened = true;
    else if (changed !== 'stage') {
      const sums = change.sums.get(event.account!) ?? nothing();
      change.sums.set(event.account!, sums);
      sums[changed] += BigInt(event.amount ?? 0);
    }
  }
  return [...changes.values()];
}

import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import type { ChainEvent } from '#indexer/reading/decode';
import { movesMoney } from '#indexer/reading/money';
import * as sql from './pool-names.sql';

type Named = ChainEvent & { poolName: string; poolId: string };

/** An event, and what is stored of it, if anything is. */
interface Item {
  event: ChainEvent;
  before?: string;
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
/** How many events without a pool one search reads. */
const EVENTS_PER_SEARCH = 10_000;

/** Goes over the events without a pool again and again, by the ids of their pools, some at a time. */
export class Search<Found> {
  private lookedAt = FIRST_ID;

  /** @param statement with the id to continue from and a limit; its row has the last id and the number of events */
  constructor(
    private readonly client: Client,
    private readonly statement: string,
  ) {}

  async next(): Promise<Found> {
    const { rows } = await this.client.query<{ last: string | null; count: number }>(this.statement, [
      this.lookedAt,
      EVENTS_PER_SEARCH,
    ]);
    const [{ last, count }] = rows;
    this.lookedAt = count < EVENTS_PER_SEARCH ? FIRST_ID : last!;
    return rows[0] as unknown as Found;
  }
}

/**
 * Finds the pools of the service that contracts know by a number or an account, or that they are. The n-th pool that an account opens at
 * a contract, in the order of the chain, is the n-th that it has made for it in the service, so it does not matter
 * which of the two comes first. A tie is of the block that made it, and goes with it.
 */
export class PoolNames {
  private readonly late: Search<{ openers: Opener[] }>;

  constructor(private readonly client: Client) {
    this.late = new Search(client, sql.FIND_LATE);
  }

  /** Gives events in effect the ids of their pools. @param isDue whether to look for pools that came after their events */
  async resolve(items: Item[], effective: number, isDue: boolean): Promise<void> {
    const named = items.filter(
      (item): item is Item & { event: Named } =>
        item.event.poolName !== null && item.event.poolId !== null && item.event.blockNumber <= effective,
    );
    const openings = named.flatMap(({ event }) => opening(event) ?? []);
    const late = isDue ? (await this.late.next()).openers : [];
    if (openings.length + late.length > 0) await this.tie(openings, late);
    if (named.length > 0) await this.name(named);
  }

  private async tie(openings: Opening[], late: Opener[]): Promise<void> {
    const openers = [...openings, ...late];
    await this.client.query(sql.TIE, [
      ...columnsOf(openers, 'contract', 'account'),
      ...columnsOf(openings, 'contract', 'account'),
      ...columnsOf(
        openings.map(({ event }) => event),
        'poolName',
        'blockNumber',
        'logIndex',
      ),
    ]);
  }

  private async name(named: { event: Named; before?: string }[]): Promise<void> {
    const pairs = new Map(named.map(({ event }) => [`${event.contract} ${event.poolName}`, event]));
    const { rows } = await this.client.query<{ contract: string; name: string; id: string }>(
      sql.NAMED,
      columnsOf(pairs.values(), 'contract', 'poolName'),
    );
    const ids = new Map(rows.map(({ contract, name, id }) => [`${contract} ${name}`, id]));
    const renamed: Named[] = [];
    for (const { event, before } of named) {
      const id = ids.get(`${event.contract} ${event.poolName}`)!;
      if (event.poolId === id) continue;
      event.poolId = id;
      if (before !== undefined) renamed.push(event);
    }
    if (renamed.length > 0)
      await this.client.query(sql.RENAME, columnsOf(renamed, 'blockNumber', 'logIndex', 'poolId'));
  }
}

interface Opener {
  contract: string;
  account: string;
}
interface Opening extends Opener {
  event: Named;
}

/** Whose pool an event opens: money of an account's pool does, and of a contract that is one, which is its own. */
function opening(event: Named): Opening | undefined {
  const { kind, contract, account, poolName } = event;
  if (poolName.startsWith('0x'))
    return movesMoney(event) ? { contract, account: poolName, event } : undefined;
  return kind === 'PoolOpened' && account !== null ? { contract, account, event } : undefined;
}

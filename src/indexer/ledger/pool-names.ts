import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import type { ChainEvent } from '#indexer/reading/decode';
import { MOVES_MONEY, movesMoney } from '#indexer/reading/money';

/**
 * SQL: ids of the pools that may have a name which this opener has opened: those that he has made for the contract, or the
 * contract's own, whose name is the contract.
 */
const poolsOf = (contract: string, opener: string): string => `
  SELECT p.id FROM users u JOIN pools p ON p.owner_id = u.id AND p.contract_address = ${contract} WHERE u.address = ${opener}
    AND NOT EXISTS (SELECT FROM chain_contracts k WHERE k.address = ${contract} AND k.pools_by = 'contract')
  UNION ALL SELECT k.pool_id FROM chain_contracts k WHERE k.address = ${contract} AND k.address = ${opener}`;

/**
 * Those who opened pools at a contract that no pool of the service was there for, and have one there now that has no
 * name. Looks at a limited number of events at a time. Parameters: the id to continue from, number of events.
 */
const FIND_LATE = `
  WITH looked AS MATERIALIZED (
    SELECT pool_id, contract, CASE WHEN pool_name LIKE '0x%' THEN CASE WHEN ${MOVES_MONEY} THEN pool_name END
      WHEN kind = 'PoolOpened' THEN account END AS opener
    FROM chain_events e WHERE outcome = 'UNKNOWN_POOL' AND pool_name IS NOT NULL AND pool_id > $1::uuid
    ORDER BY pool_id LIMIT $2
  )
  SELECT (SELECT pool_id FROM looked ORDER BY pool_id DESC LIMIT 1) AS last, (SELECT count(*)::int FROM looked) AS count,
    coalesce((SELECT json_agg(json_build_object('contract', contract, 'account', opener)) FROM (
      SELECT contract, opener FROM (SELECT DISTINCT contract, opener FROM looked) l
      WHERE EXISTS (SELECT FROM (${poolsOf('l.contract', 'l.opener')}) p
        WHERE p.id IS NOT NULL AND NOT EXISTS (SELECT FROM pool_names n WHERE n.pool_id = p.id))) o), '[]') AS openers`;

/**
 * Ties pools to the names that these accounts have opened, the first to the first, with those that have waited. A pool
 * is held until it is tied, so that it is not cancelled meanwhile. Ids are given as 32 hex digits. Parameters: contracts
 * and accounts; of the new events that open a pool: contract, account, name, block, log index.
 */
export const TIE = `
  WITH asked AS MATERIALIZED (
    SELECT DISTINCT contract, account FROM unnest($1::text[], $2::text[]) AS a(contract, account)
  ), held AS MATERIALIZED (
    SELECT p.id, a.contract, a.account
    FROM asked a CROSS JOIN LATERAL (${poolsOf('a.contract', 'a.account')}) w JOIN pools p ON p.id = w.id
    WHERE NOT EXISTS (SELECT FROM pool_names n WHERE n.pool_id = p.id)
    ORDER BY p.id FOR KEY SHARE OF p
  ), openers AS MATERIALIZED (
    -- Without a pool to tie, what waits is not read: it may be much.
    SELECT DISTINCT contract, account FROM held
  ), opened AS (
    SELECT contract, account, name, block, log
    FROM unnest($3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[]) AS o(contract, account, name, block, log)
    UNION ALL
    SELECT contract, account, pool_name, block_number, log_index FROM chain_events JOIN openers USING (contract, account)
    WHERE outcome = 'UNKNOWN_POOL' AND kind = 'PoolOpened' AND pool_name IS NOT NULL
    UNION ALL
    SELECT o.contract, o.account, e.pool_name, e.block_number, e.log_index FROM openers o CROSS JOIN LATERAL (
      SELECT pool_name, block_number, log_index FROM chain_events
      WHERE outcome = 'UNKNOWN_POOL' AND pool_id = pool_stand_in(o.contract, o.account) AND pool_name IS NOT NULL
      ORDER BY block_number, log_index LIMIT 1) e
  ), first AS (
    SELECT DISTINCT ON (contract, name) * FROM opened o
    WHERE NOT EXISTS (SELECT FROM pool_names n WHERE n.stand_in = pool_stand_in(o.contract, o.name))
    ORDER BY contract, name, block, log
  ), tied AS (
    INSERT INTO pool_names (stand_in, contract, name, pool_id, block_number, log_index)
    SELECT pool_stand_in(contract, name), contract, name, id, block, log
    FROM (SELECT *, row_number() OVER (PARTITION BY contract, account ORDER BY block, log) AS n FROM first) f
    JOIN (SELECT *, row_number() OVER (PARTITION BY contract, account ORDER BY id) AS n FROM held) h
      USING (contract, account, n)
    RETURNING stand_in, pool_id
  )
  UPDATE chain_events e SET pool_id = t.pool_id FROM tied t
  WHERE e.outcome = 'UNKNOWN_POOL' AND e.pool_id = t.stand_in`;

/** The ids that names have now. Parameters: contracts, names. */
const NAMED = `
  SELECT w.contract, w.name, replace(coalesce(n.pool_id, w.stand_in)::text, '-', '') AS id
  FROM (SELECT contract, name, pool_stand_in(contract, name) AS stand_in
    FROM unnest($1::text[], $2::text[]) AS w(contract, name)) w
  LEFT JOIN pool_names n ON n.stand_in = w.stand_in`;

/** Parameters: blocks, log indexes, pool ids. */
const RENAME = `
  UPDATE chain_events e SET pool_id = r.pool_id
  FROM unnest($1::bigint[], $2::bigint[], $3::uuid[]) AS r(block_number, log_index, pool_id)
  WHERE e.block_number = r.block_number AND e.log_index = r.log_index`;

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
    this.late = new Search(client, FIND_LATE);
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
    await this.client.query(TIE, [
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
      NAMED,
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
      await this.client.query(RENAME, columnsOf(renamed, 'blockNumber', 'logIndex', 'poolId'));
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

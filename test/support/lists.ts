import type { SignedIn, TestApp } from './app';
import { type LedgerRow, ledgerRow, ownership } from './ledger';

export const TYPES = ['DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM'] as const;
export const DAY = 86_400_000;

type Row = Pick<LedgerRow, 'id' | 'poolId' | 'type' | 'status' | 'account' | 'createdAt'>;

export interface World {
  users: SignedIn[];
  /** Of each pool: index of the owner, of the members. */
  pools: { id: string; owner: number; members: number[] }[];
  rows: Row[];
}

export interface Filter {
  type?: string;
  poolId?: string;
  status?: string;
  from?: Date;
  to?: Date;
}

/** What a caller may see, newest first, found by looking at every row. */
export function oracle({ users, pools, rows }: World, user: number, filter: Filter = {}): string[] {
  const { type, poolId, status, from, to } = filter;
  const mine = new Set(pools.filter((p) => p.owner === user || p.members.includes(user)).map(({ id }) => id));
  return rows
    .filter((row) => mine.has(row.poolId) || row.account === users[user].address)
    .filter((row) => (!type || row.type === type) && (!poolId || row.poolId === poolId))
    .filter((row) => (!status || row.status === status) && (!from || row.createdAt >= from))
    .filter((row) => !to || row.createdAt < to)
    .map(({ id }) => id)
    .sort()
    .reverse();
}

/** From now on, so many memberships of an address are looked up, and later ones are indexed. */
export const lookUpOnly = (app: TestApp, few: number): Promise<unknown> =>
  app.sql(
    `CREATE OR REPLACE FUNCTION few_memberships() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT ${few}'`,
  );

/** Pools with owners and members, and rows of the ledger, in the database of the app and known to the test. */
export function worldOf(app: TestApp): {
  newWorld: (plans: { owner: number; members: number[] }[]) => Promise<World>;
  addRows: (world: World, picks: number[], days: number, statuses?: boolean) => Promise<void>;
} {
  /**
   * Writes what the world has beyond the API's own rows: a row a pick, spread over days, many at the same moment.
   * @param statuses whether some are not on the chain
   */
  async function addRows(world: World, picks: number[], days: number, statuses = false): Promise<void> {
    const midnight = Math.floor(Date.now() / DAY) * DAY;
    const rows = picks.map((pick, i) =>
      ledgerRow({
        poolId: world.pools[pick % world.pools.length].id,
        account: world.users[(pick >> 4) % world.users.length].address,
        type: TYPES[(pick >> 8) % 3],
        status: statuses ? (['CONFIRMED', 'PENDING', 'EXPIRED'] as const)[(pick >> 2) % 3] : 'CONFIRMED',
        // Until yesterday, so that none is in the future soon after midnight.
        createdAt: new Date(
          midnight - (1 + ((pick >> 10) % days)) * DAY + (pick % 7 === 0 ? -1 : (i % 50) * 1000),
        ),
      }),
    );
    // One statement, as a batch of events is.
    await app.sql(
      `INSERT INTO transactions (id, pool_id, type, status, account, amount, tx_hash, block_number, log_index, created_at,
         owner_id, by_owner)
       SELECT r.id, r.pool_id, r.type, r.status, r.account, 0, CASE r.status WHEN 'CONFIRMED' THEN r.id::text END,
         CASE r.status WHEN 'CONFIRMED' THEN 1 END, CASE r.status WHEN 'CONFIRMED' THEN 0 END, r.at,
         ${ownership('r.pool_id', 'r.account')}
       FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
         r(id, pool_id, type, status, account, at)`,
      [
        rows.map(({ id }) => id),
        rows.map((row) => row.poolId),
        rows.map(({ type }) => type),
        rows.map(({ status }) => status),
        rows.map(({ account }) => account),
        rows.map((row) => row.createdAt),
      ],
    );
    world.rows.push(...rows);
  }

  async function newWorld(plans: { owner: number; members: number[] }[]): Promise<World> {
    const world: World = { users: [], pools: [], rows: [] };
    for (let i = 0; i < 4; i++) world.users.push(await app.signIn());
    for (const { owner, members } of plans) {
      const others = members.filter((member) => member !== owner);
      const addresses = others.map((member) => world.users[member].address);
      const { id, createdAt } = await app.createPool(world.users[owner], { members: addresses });
      world.pools.push({ id, owner, members: others });
      const [deposit] = await app.sql<{ id: string }>('SELECT id FROM transactions WHERE pool_id = $1', [id]);
      world.rows.push({
        id: deposit.id,
        poolId: id,
        type: 'DEPOSIT',
        status: 'PENDING',
        account: world.users[owner].address,
        createdAt: new Date(createdAt as string),
      });
    }
    return world;
  }

  return { newWorld, addRows };
}

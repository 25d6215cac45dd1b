import type { QueryResultRow } from 'pg';
import type { CursorCodec } from '#platform/answers/cursor';
import type { TypedStatement } from '#platform/postgres/statement';
import * as auth from '#features/access/sign-in.sql';
import * as analytics from '#features/analytics/analytics.sql';
import { WINNER_CURSOR } from '#features/lottery/lottery.dto';
import * as lottery from '#features/lottery/lottery.sql';
import { POOL_CURSOR } from '#features/pools/pools.dto';
import * as pools from '#features/pools/pools.sql';
import * as positions from '#extensions/positions/positions.sql';
import { TRANSACTION_CURSOR } from '#features/transactions/transactions.dto';
import * as transactions from '#features/transactions/transactions.sql';
import * as users from '#features/auth/users.sql';
import type { Caller } from './database';

/** What a request asks with: its caller, the ID in its path, and the page of a list. */
export interface Asked {
  user: string;
  caller: string;
  id: string;
  limit: number;
  offset: number;
}

/** What pgbench sends for a request. */
export interface Script {
  name: string;
  statements: TypedStatement<any, QueryResultRow>[];
  /** Values of the statements' parameters, by name. */
  values: (asked: Asked) => object;
  /** SQL in place of values that differ in each request. */
  sql?: Record<string, string>;
}

export interface Read extends Script {
  /** `:id` stands for pools that the caller may read, `:hash` for transactions in them. */
  path: string;
  /** Items on a page, and the list's cursors if it has any. */
  list?: { limit: number; cursor?: CursorCodec };
}

const one = <P extends object>(
  path: string,
  statement: TypedStatement<P, { data: string | null }>,
  values: (asked: Asked) => P,
): Read => ({ name: `GET ${path}`, path, statements: [statement], values });

const list = <P extends object>(
  path: string,
  statement: TypedStatement<P, { total?: number | null; data: string; next?: string | null }>,
  values: (asked: Asked) => P,
  limit: number,
  cursor?: CursorCodec,
): Read => ({ name: `GET ${path}`, path, statements: [statement], values, list: { limit, cursor } });

/** The measured reads: the clients' requests, the peer's routes and pgbench's scripts all follow from this table. */
export const READS: Read[] = [
  list(
    '/pools',
    pools.LIST_POOLS,
    ({ caller, limit, offset }) => ({ caller, type: null, limit, offset, after: null }),
    20,
    POOL_CURSOR,
  ),
  one('/pools/:id', pools.POOL_DETAIL, ({ caller, id }) => ({ caller, pool: id })),
  one('/pools/:id/yield', pools.POOL_YIELD, ({ caller, id }) => ({ caller, pool: id })),
  one('/pools/:id/position', positions.POOL_POSITION, ({ caller, id }) => ({ caller, pool: id })),
  list(
    '/transactions',
    transactions.LIST_TRANSACTIONS,
    ({ user, caller, limit, offset }) => ({ user, caller, type: null, limit, offset }),
    20,
    TRANSACTION_CURSOR,
  ),
  one('/transactions/:hash', transactions.TRANSACTION_BY_HASH, ({ caller, id }) => ({ caller, hash: id })),
  one('/analytics/user', analytics.USER_ANALYTICS, ({ user }) => ({ user })),
  one('/analytics/pools', analytics.POOL_ANALYTICS, () => ({})),
  list(
    '/users/me/positions',
    positions.LIST_POSITIONS,
    ({ caller, limit, offset }) => ({ caller, limit, offset }),
    20,
  ),
  one('/auth/me', users.ME, ({ user }) => ({ user })),
  one('/lottery/current', lottery.CURRENT_DRAW, () => ({})),
  list(
    '/lottery/winners',
    lottery.LIST_WINNERS,
    ({ limit, offset }) => ({ limit, offset, drawnAtMs: null, drawId: null, contract: null }),
    10,
    WINNER_CURSOR,
  ),
];

export const SIGN_IN = 'sign-in';

/** Writes have routes of their own in the peer, whose statements write one row at a time. */
export const WRITES: Script[] = [
  {
    name: 'POST /pools',
    statements: [pools.CREATE_POOLS],
    values: ({ user, caller }) => ({
      types: ['cooperative'],
      owners: [user],
      contracts: [`0x${'c'.repeat(40)}`],
      autoCompound: [true],
      members: [`{${newMembers(caller).join(',')}}`.toLowerCase()],
      ownerAddresses: [caller],
      amounts: ['25000000000000000000'],
    }),
    sql: { pools: 'ARRAY[uuidv7()]', createdAt: 'ARRAY[now()]', deposits: 'ARRAY[uuidv7()]' },
  },
  {
    name: SIGN_IN,
    statements: [auth.ISSUE_NONCES, auth.FIND_NONCE, auth.SIGN_IN],
    values: ({ caller }) => ({ address: caller, addresses: [caller] }),
    sql: { nonces: 'ARRAY[:nonce]', nonce: ':nonce', newIds: 'ARRAY[uuidv7()]' },
  },
];

/** Two members that no other writer uses, as in practice. */
export const newMembers = (caller: string): string[] =>
  ['AAAAAAAA', 'bbbbbbbb'].map((start) => `0x${start}${caller.slice(10)}`);

/** One request for each ID that the path asks for. */
export function askedBy(
  { id: user, address: caller, ...ids }: Caller,
  { path, list }: Partial<Read>,
): Asked[] {
  const each = path?.includes(':id') ? ids.pools : path?.includes(':hash') ? ids.hashes : [''];
  return each.map((id) => ({ user, caller, id, limit: list?.limit ?? 0, offset: 0 }));
}

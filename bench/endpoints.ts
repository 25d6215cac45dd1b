import type { Request } from 'autocannon';
import { createSigner } from 'fast-jwt';
import type { Caller } from './database';
import type { Load } from './drive';
import { JWT_SECRET } from './peers';

export interface Endpoint {
  name: string;
  load: Load;
  /** The answers contain new ids and times, so only their shape is compared. */
  volatile?: boolean;
}

const sign = createSigner({ key: JWT_SECRET, expiresIn: '7d' });

const tokens = new Map<string, string>();

/** One token per caller, as for a user who signed in once. */
export function bearer({ id, address }: Caller): Record<string, string> {
  const token = tokens.get(id) ?? sign({ userId: id, address });
  tokens.set(id, token);
  return { authorization: `Bearer ${token}` };
}

export const JSON_BODY = { 'content-type': 'application/json' };

/** With two members that no other writer uses, as in practice. */
const newPool = ({ address }: Caller): string =>
  JSON.stringify({
    type: 'cooperative',
    initialDeposit: '25000000000000000000',
    autoCompound: true,
    members: [`0xAAAAAAAA${address.slice(10)}`, `0xbbbbbbbb${address.slice(10)}`],
  });

/** Every reader sends GETs for the paths, over a connection of its own. */
export const reading = (
  readers: Caller[],
  name: string,
  paths: (caller: Caller) => string[],
  connections = 32,
): Endpoint => ({
  name,
  load: {
    connections,
    requests: (index) => {
      const caller = readers[index % readers.length];
      const headers = bearer(caller);
      return paths(caller).map((path): Request => ({ path, headers }));
    },
  },
});

/**
 * Every measured endpoint except the sign-in, which is a dialogue. Nobody reads the writers' data, because it grows.
 */
export function endpoints(readers: Caller[], writers: Caller[], connections?: number): Endpoint[] {
  const get = (name: string, paths: (caller: Caller) => string[]): Endpoint =>
    reading(readers, name, paths, connections);
  return [
    get('GET /pools', () => ['/pools']),
    get('GET /pools/:id', ({ pools }) => pools.map((id) => `/pools/${id}`)),
    get('GET /pools/:id/yield', ({ pools }) => pools.map((id) => `/pools/${id}/yield`)),
    get('GET /transactions', () => ['/transactions']),
    get('GET /transactions/:hash', ({ hashes }) => hashes.map((hash) => `/transactions/${hash}`)),
    get('GET /analytics/user', () => ['/analytics/user']),
    get('GET /analytics/pools', () => ['/analytics/pools']),
    get('GET /users/me/positions', () => ['/users/me/positions']),
    get('GET /auth/me', () => ['/auth/me']),
    get('GET /lottery/current', () => ['/lottery/current']),
    get('GET /lottery/winners', () => ['/lottery/winners']),
    {
      name: 'POST /pools',
      volatile: true,
      load: {
        connections: connections ?? 64,
        requests: (index) => {
          const writer = writers[index % writers.length];
          const headers = { ...bearer(writer), ...JSON_BODY };
          return [{ method: 'POST', path: '/pools', headers, body: newPool(writer) }];
        },
      },
    },
  ];
}

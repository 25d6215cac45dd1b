import type { Request } from 'autocannon';
import { createSigner } from 'fast-jwt';
import type { Caller } from './database';
import type { Load } from './drive';
import { READS, askedBy, newMembers } from './endpoints';
import { JWT_SECRET } from './peers';

/** The requests that are sent to an endpoint. */
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

/** Every reader sends GETs for the paths, over a separate connection. */
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

/** Every writer posts its body, over a separate connection. */
export const posting = (
  writers: Caller[],
  path: string,
  body: (caller: Caller) => object,
  connections = 64,
): Endpoint => ({
  name: `POST ${path}`,
  volatile: true,
  load: {
    connections,
    requests: (index) => {
      const writer = writers[index % writers.length];
      const headers = { ...bearer(writer), ...JSON_BODY };
      return [{ method: 'POST', path, headers, body: JSON.stringify(body(writer)) }];
    },
  },
});

/**
 * Every measured endpoint except the sign-in, which is a dialogue. Nobody reads the writers' data, because it grows.
 */
export const endpoints = (readers: Caller[], writers: Caller[], connections?: number): Endpoint[] => [
  ...READS.map((read) => {
    const paths = (caller: Caller): string[] =>
      askedBy(caller, read).map(({ id }) => read.path.replace(/:\w+/, id));
    return reading(readers, read.name, paths, connections);
  }),
  posting(
    writers,
    '/pools',
    ({ address }) => ({
      type: 'cooperative',
      initialDeposit: '25000000000000000000',
      autoCompound: true,
      members: newMembers(address),
    }),
    connections,
  ),
];

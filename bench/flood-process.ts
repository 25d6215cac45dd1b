import type { Request } from 'autocannon';
import { randomBytes } from 'node:crypto';
import { obey } from './helper';
import { type Pace, pace } from './pace';

export interface FloodOrders extends Pace {
  url: string;
  /** A sign-in message with this nonce, which every request replaces by an unknown one. */
  message: string;
  nonce: string;
  signature: string;
  /** Of clients, who take turns. */
  addresses: number;
}
/** Answers by status. */
export type FloodReport = Record<number, number>;

const stopping = new AbortController();
const statuses: FloodReport = {};
let flood: Promise<void>;

obey<FloodOrders, FloodReport>(
  async ({ url, message, nonce, signature, addresses, ...rate }) => {
    const next = (n: number): Request => ({
      method: 'POST',
      path: '/auth/verify',
      headers: {
        'content-type': 'application/json',
        'x-forwarded-for': `192.0.2.${n % addresses}`,
      },
      body: JSON.stringify({
        message: message.replace(nonce, randomBytes(nonce.length / 2).toString('hex')),
        signature,
      }),
    });
    await new Promise<void>((resolve) => {
      flood = pace(url, { ...rate, signal: stopping.signal }, next, (_, status) => {
        statuses[status] = (statuses[status] ?? 0) + 1;
        resolve();
      });
    });
    return statuses;
  },
  async () => {
    stopping.abort();
    await flood;
    return statuses;
  },
);

import type { Database } from '#platform/database/database';
import type { OutboxPoller } from '#ledger/outbox/outbox-poller';
import type { ReceiversSettings } from '#features/receivers/receivers.settings';
import { type Lane, SHARES } from '#features/receivers/slots';
import type { WebhookClient } from '#features/receivers/webhook-client';
import { CLAIM_CHALLENGES, POSTPONE_CHALLENGES } from './challenges.sql';
import { CLAIM_DELIVERIES, DUE_WEBHOOKS, type DueWebhook, FAIL_DELIVERIES } from './deliveries.sql';
import { WebhookSender } from './webhook-sender';

const webhook = (lane: Lane, n: number, more: Partial<DueWebhook> = {}): DueWebhook => ({
  ...{ id: `${lane}${n}`, lane, status: lane === 'challenge' ? 'UNVERIFIED' : 'ACTIVE' },
  ...{ owner: `${lane}${n}`, host: `${lane}${n}`, network: null, due: '-infinity' },
  ...more,
});
/** More than there are slots for, more challenges of one user than a minute allows, and one that is disabled. */
const DUE = [
  ...Array.from({ length: 60 }, (_, n) => webhook('quick', n)),
  ...Array.from({ length: 20 }, (_, n) => webhook('challenge', n, { owner: 'one' })),
  webhook('slow', 0, { status: 'DISABLED' }),
];

/** A sender on a database where one statement always fails and nothing can be claimed. */
class Bench {
  /** The slots for deliveries that the last round had. */
  slots = 0;
  round: () => Promise<void> = () => Promise.resolve();

  constructor(failing: object) {
    const run = (statement: unknown, values: { most?: number[] }): Promise<unknown> => {
      if (statement === CLAIM_DELIVERIES) this.slots = values.most!.reduce((sum, each) => sum + each, 0);
      if (statement === failing) return Promise.reject(new Error('canceling statement due to lock timeout'));
      return Promise.resolve(statement === DUE_WEBHOOKS ? DUE : []);
    };
    const poller = { add: (task: () => Promise<void>) => (this.round = task), hurry: () => undefined };
    new WebhookSender(
      { readAll: run, writeAll: run, write: run } as unknown as Database,
      poller as unknown as OutboxPoller,
      {} as WebhookClient,
      {} as ReceiversSettings,
      { inc: () => undefined } as never,
    ).onApplicationBootstrap();
  }
}

describe('WebhookSender', () => {
  it.each([POSTPONE_CHALLENGES, FAIL_DELIVERIES, CLAIM_CHALLENGES, CLAIM_DELIVERIES])(
    'keeps its slots when $name fails',
    async (failing) => {
      const bench = new Bench(failing);
      let failures = 0;
      for (let round = 0; round < 12; round++) {
        bench.slots = 0;
        await bench.round().catch(() => failures++);
        expect(bench.slots).toBe(SHARES.quick.all);
      }
      expect(failures).toBeGreaterThan(0);
    },
  );
});

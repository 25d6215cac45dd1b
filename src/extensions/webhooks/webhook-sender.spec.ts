import type { Database } from '#platform/database/database';
import type { OutboxPoller } from '#ledger/outbox/outbox-poller';
import type { ReceiversSettings } from '#extensions/receivers/receivers.settings';
import { type Lane, SHARES } from '#extensions/receivers/slots';
import type { WebhookClient } from '#extensions/receivers/webhook-client';
import { CLAIM_CHALLENGES } from './challenges.sql';
import { CLAIM_DELIVERIES, DUE_WEBHOOKS, type DueWebhook, FAIL_DELIVERIES } from './deliveries.sql';
import { WebhookSender, bodyOf, challengeOf } from './webhook-sender';
import { NOTICES } from './webhooks.dto';

const webhook = (lane: Lane, n: number, more: Partial<DueWebhook> = {}): DueWebhook => ({
  ...{ id: `${lane}${n}`, lane, status: lane === 'challenge' ? 'UNVERIFIED' : 'ACTIVE' },
  ...{ owner: `${lane}${n}`, host: `${lane}${n}`, network: null, since: 0 },
  ...more,
});
/** More webhooks than there are slots, and a disabled one. */
const webhooks = [
  ...Array.from({ length: 60 }, (_, n) => webhook('quick', n)),
  ...Array.from({ length: 20 }, (_, n) => webhook('challenge', n, { owner: 'one' })),
  webhook('slow', 0, { status: 'DISABLED' }),
];
const PAGE = { lane: 'quick', now: 1, due: null, id: null, webhooks };

interface Values {
  dues: string[];
  ids: string[];
  webhooks: string[];
  most: number[];
}

/** A sender on a database where one statement always fails, if one is given, and nothing can be claimed. */
class Bench {
  /** The due webhooks: a round reads all pages. */
  pages: object[] = [PAGE];
  /** Where the pages of the last round began. */
  asked: Pick<Values, 'dues' | 'ids'>[] = [];
  /** The webhooks that the last round gave slots to, and their slots for deliveries. */
  claimed: string[] = [];
  slots = 0;
  round: () => Promise<void> = () => Promise.resolve();

  constructor(failing?: object) {
    const run = (statement: unknown, values: Values): Promise<unknown> => {
      if (statement === CLAIM_DELIVERIES) {
        this.claimed = values.webhooks;
        this.slots = values.most.reduce((sum, each) => sum + each, 0);
      }
      if (statement === failing) return Promise.reject(new Error('canceling statement due to lock timeout'));
      if (statement !== DUE_WEBHOOKS) return Promise.resolve([]);
      this.asked.push({ dues: values.dues, ids: values.ids });
      return Promise.resolve([this.pages[(this.asked.length - 1) % this.pages.length]]);
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
  it.each([FAIL_DELIVERIES, CLAIM_CHALLENGES, CLAIM_DELIVERIES])(
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

  it('reads all pages, each from the end of the last, before it gives slots, and serves a repeated webhook once', async () => {
    const bench = new Bench();
    const late = Array.from({ length: 60 }, (_, n) => webhook('quick', n, { since: 2 }));
    const early = webhook('quick', 99, { since: 1 });
    bench.pages = [
      { ...PAGE, due: 'then', id: 'there', webhooks: late },
      { ...PAGE, webhooks: [early, late[0]] },
    ];
    await bench.round();
    expect(bench.asked.map(({ dues, ids }) => [dues, ids])).toEqual([
      [Array(3).fill('-infinity'), Array(3).fill('00000000-0000-0000-0000-000000000000')],
      [['then'], ['there']],
    ]);
    expect(bench.claimed.slice(0, 2)).toEqual([early.id, late[0].id]);
    expect(new Set(bench.claimed).size).toBe(bench.claimed.length);
  });
});

const delivery = { eventId: '0000000002f1-00000000001a-0001', createdAt: new Date(1_000_000) };

it('an event is sent as it was stored', () =>
  expect(bodyOf({ ...delivery, topic: 'draw.closed', event: '{"id": 1}' })).toBe('{"id": 1}'));

// The first event that was left out of one webhook is stored when others have got it.
it.each(NOTICES.flatMap((topic) => [null, '{"id": 1}'].map((event) => [topic, event] as const)))(
  'the notice %s is its delivery, whatever is stored under its id: %s',
  (topic, event) =>
    expect(JSON.parse(bodyOf({ ...delivery, topic, event }))).toEqual({
      id: delivery.eventId,
      topic,
      occurredAt: '1970-01-01T00:16:40.000Z',
    }),
);

it('a challenge is in its message', () =>
  expect(JSON.parse(challengeOf('7', 'abc'))).toEqual({
    id: '7',
    topic: 'challenge',
    occurredAt: expect.any(String) as unknown,
    challenge: 'abc',
  }));

import type { Database } from '#platform/database/database';
import type { OutboxPoller } from '#ledger/outbox/outbox-poller';
import type { WebhooksSettings } from './webhooks.settings';
import { SHARES } from './slots';
import type { WebhookClient } from './webhook-client';
import { DUE_WEBHOOKS, type DueWebhook } from './deliveries.sql';
import { WebhookSender } from './webhook-sender';

/** More webhooks than there are slots. */
const webhooks = (['quick', 'challenge'] as const).flatMap((lane) =>
  Array.from({ length: 60 }, (_, n): DueWebhook => {
    const name = `${lane}${n}`;
    return { id: name, lane, owner: name, host: name, since: 0, now: 1 };
  }),
);

it('keeps its slots when the claim fails', async () => {
  // No look takes long.
  const clock = jest.spyOn(performance, 'now').mockReturnValue(1);
  let claimed = 0;
  const run = ({ name }: { name: string }, values: { webhooks: string[] }): Promise<unknown> => {
    if (name === DUE_WEBHOOKS.name) return Promise.resolve(webhooks);
    claimed = values.webhooks.length;
    return Promise.reject(new Error('lock timeout'));
  };
  let round = (): Promise<void> => Promise.resolve();
  const poller = { add: (_: string, task: () => Promise<void>) => (round = task), hurry: () => undefined };
  new WebhookSender(
    { readAll: run, writeAll: run } as unknown as Database,
    poller as unknown as OutboxPoller,
    {} as WebhookClient,
    {} as WebhooksSettings,
    { inc: () => undefined } as never,
  ).onApplicationBootstrap();
  for (let rounds = 0; rounds < 9; rounds++) {
    claimed = 0;
    await expect(round()).rejects.toThrow('lock timeout');
    expect(claimed).toBe(SHARES.quick.all + SHARES.challenge.all);
  }
  clock.mockRestore();
});

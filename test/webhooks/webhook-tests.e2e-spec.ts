import { Webhook as Library } from 'standardwebhooks';
import { until, useApp } from '../support/app';
import { addTransaction } from '../support/ledger';
import { type Received, isSigned } from '../support/events/receiver';
import { Webhooks } from '../support/events/webhooks';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const webhooks = new Webhooks(app);

describe('a test event', () => {
  it('is sent once, signed, and its result is in the list', async () => {
    const target = await webhooks.receiver();
    const { id, secret } = await webhooks.subscribe(target.url, { topics: ['draw.opened'] });
    const { status, body } = await webhooks.send('POST', `/webhooks/${id}/test`);
    expect([status, body.data]).toMatchObject([202, { topic: 'test', status: 'PENDING', attempts: 0 }]);
    await until(() => target.tests.length > 0);
    const [received] = target.tests;
    expect(isSigned(received, secret)).toBe(true);
    expect(new Library(secret).verify(received.body, received.headers as Record<string, string>)).toEqual({
      id: body.data.eventId,
      topic: 'test',
      occurredAt: body.data.createdAt,
    });
    expect(received.headers['webhook-id']).toBe(body.data.id);
    await until(async () => (await webhooks.delivery(id)).status === 'DELIVERED');
    expect(await webhooks.deliveries(id)).toMatchObject([
      { id: body.data.id, topic: 'test', lastStatus: 204 },
    ]);
    expect(await app.sql('SELECT FROM webhook_events WHERE id = $1', [body.data.eventId])).toEqual([]);
  });

  it('has its place among events, and an id that none of them has', async () => {
    const target = await webhooks.receiver();
    const { id } = await webhooks.subscribe(target.url);
    const pool = (await app.createPool(webhooks.owner)) as { id: string };
    await until(async () => (await webhooks.deliveries(id)).some(({ topic }) => topic === 'pool.created'));
    await webhooks.test(id);
    await until(() => target.tests.length > 0);
    await addTransaction(app, { poolId: pool.id, account: webhooks.owner.address });
    await until(async () =>
      (await webhooks.deliveries(id)).some(({ topic }) => topic === 'deposit.confirmed'),
    );
    expect((await webhooks.deliveries(id)).map(({ topic }) => topic)).toEqual([
      'deposit.confirmed',
      'test',
      'pool.created',
    ]);
    for (const { eventId } of await webhooks.deliveries(id))
      expect(eventId).toMatch(/^[0-9a-f]{12}-[0-9a-f]{12}-[0-9a-f]{4}$/);
  });

  it('that fails is not tried again, so the next one can be asked for', async () => {
    const target = await webhooks.receiver();
    const { id } = await webhooks.subscribe(target.url);
    target.answer = (response) => response.writeHead(500).end();
    for (const n of [1, 2]) {
      await webhooks.test(id);
      await until(
        async () => (await webhooks.deliveries(id)).filter(({ status }) => status === 'FAILED').length === n,
      );
    }
    expect(target.tests).toHaveLength(2);
    expect(await webhooks.deliveries(id)).toMatchObject([
      { status: 'FAILED', attempts: 1, lastError: 'status 500', nextAttemptAt: null },
      { status: 'FAILED', attempts: 1 },
    ]);
  });

  it('is one at a time, also of ten that are asked for at once', async () => {
    const target = await webhooks.receiver();
    const answer = target.hold();
    const { id } = await webhooks.subscribe(target.url);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => webhooks.send('POST', `/webhooks/${id}/test`)),
    );
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    await until(() => target.tests.length > 0);
    expect((await webhooks.send('POST', `/webhooks/${id}/test`)).body.code).toBe('webhook_test_pending');
    answer();
    await until(async () => (await webhooks.delivery(id)).status === 'DELIVERED');
    expect(target.tests).toHaveLength(1);
    await webhooks.test(id);
  });

  it.each(['UNVERIFIED', 'PAUSED', 'DISABLED'])('is refused while the webhook is %s', async (status) => {
    const target = await webhooks.receiver();
    const { id } = await webhooks.subscribe(target.url);
    await app.sql(`UPDATE webhooks SET status = $2, retry_at = 'infinity' WHERE id = $1`, [id, status]);
    const answer = await webhooks.send('POST', `/webhooks/${id}/test`);
    expect([answer.status, answer.body.code]).toEqual([409, 'webhook_not_active']);
    // That it was paused may be told meanwhile.
    expect((await webhooks.deliveries(id)).filter(({ topic }) => topic === 'test')).toEqual([]);
  });
});

const DAY_MS = 86_400_000;

describe('a secret', () => {
  const rotate = async (id: string): Promise<{ secret: string; previousSecretUntil: string }> => {
    const { status, body, text } = await webhooks.send('POST', `/webhooks/${id}/secret`);
    expect([status, body.data.id]).toEqual([200, id]);
    expect((await app.get('/webhooks', webhooks.owner)).text).not.toContain(body.data.secret);
    expect(text).not.toContain('"previousSecret"');
    return body.data as { secret: string; previousSecretUntil: string };
  };
  const verifies = ({ body, headers }: Received, secret: string): boolean => {
    try {
      new Library(secret).verify(body, headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  };

  it('signs beside the new one for a day, and the one before it no more', async () => {
    const target = await webhooks.receiver();
    const { id, secret: first } = await webhooks.subscribe(target.url);
    const { secret: second } = await rotate(id);
    const before = Date.now();
    const { secret: third, previousSecretUntil } = await rotate(id);
    const rotatedAt = Date.parse(previousSecretUntil) - DAY_MS;
    expect([rotatedAt >= before, rotatedAt <= Date.now()]).toEqual([true, true]);
    expect(await webhooks.shown(id)).toMatchObject({ previousSecretUntil });
    await webhooks.test(id);
    await until(() => target.tests.length > 0);
    expect([first, second, third].map((secret) => verifies(target.tests[0], secret))).toEqual([
      false,
      true,
      true,
    ]);
    expect(String(target.tests[0].headers['savings-signature'])).toMatch(/^t=\d+(,v1=[0-9a-f]{64}){2}$/);
  });

  it('signs no more when the day is over', async () => {
    const target = await webhooks.receiver();
    const { id, secret: old } = await webhooks.subscribe(target.url);
    const { secret } = await rotate(id);
    await app.sql('UPDATE webhooks SET previous_secret_until = now() WHERE id = $1', [id]);
    expect(await webhooks.shown(id)).toMatchObject({ previousSecretUntil: null });
    await webhooks.test(id);
    await until(() => target.tests.length > 0);
    expect([old, secret].map((each) => verifies(target.tests[0], each))).toEqual([false, true]);
  });

  it('that is rotated while something is sent leaves that as it is, and signs what comes again', async () => {
    const target = await webhooks.receiver();
    const answer = target.hold();
    const { id, secret: old } = await webhooks.subscribe(target.url);
    await webhooks.test(id);
    await until(() => target.tests.length > 0);
    const answers = await Promise.all([rotate(id), rotate(id), rotate(id)]);
    answer();
    await until(async () => (await webhooks.delivery(id)).status === 'DELIVERED');
    expect(verifies(target.tests[0], old)).toBe(true);
    await webhooks.retry(id, (await webhooks.delivery(id)).id);
    await until(() => target.tests.length > 1);
    // Of three that were made at once, the last two.
    expect(answers.filter(({ secret }) => verifies(target.tests[1], secret))).toHaveLength(2);
    expect(verifies(target.tests[1], old)).toBe(false);
  });
});

import { ExpiredRows } from '#platform/database/expired-rows';
import { v7 as uuidv7 } from 'uuid';
import { type Response, type SignedIn, until, useApp } from '../support/app';
import { readable } from '../support/events/outbox';
import { Webhooks, verified } from '../support/events/webhooks';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const webhooks = new Webhooks(app);

/** A test event that waits. */
async function addTest(webhook: string): Promise<string> {
  const id = uuidv7();
  await app.sql(
    `INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic, next_attempt_at)
     VALUES ($1, $2, 'x', 'test', now() + interval '1 hour')`,
    [id, webhook],
  );
  return id;
}

describe('a webhook that is changed', () => {
  it('keeps what is left out, and answers with itself when nothing changes', async () => {
    const { id } = await webhooks.subscribe('http://LocalHost:80/hook#part', { topics: ['pool.created'] });
    const before = await webhooks.shown(id);
    expect(before).toMatchObject({ url: 'http://localhost/hook', status: 'ACTIVE' });
    for (const body of [
      {},
      { url: null, enabled: null },
      { url: 'http://LOCALHOST/hook' },
      { enabled: true },
      { topics: ['pool.created'] },
      { other: 1 },
    ]) {
      const answer = await webhooks.send('PATCH', `/webhooks/${id}`, body);
      expect([answer.status, answer.body.data]).toEqual([200, before]);
    }
  });

  it('has to prove itself again at another URL, and forgets how the one before failed', async () => {
    const { id } = await webhooks.subscribe('http://localhost:1/');
    await app.sql(
      `UPDATE webhooks SET status = 'PAUSED', failures = 7, failing_since = now(), last_error = 'status 500',
         retry_at = now() + interval '1 hour' WHERE id = $1`,
      [id],
    );
    expect(await webhooks.shown(id)).toMatchObject({
      status: 'PAUSED',
      failures: 7,
      failingSince: expect.any(String) as unknown,
      lastError: 'status 500',
      retryAt: expect.any(String) as unknown,
    });
    const { status, body } = await webhooks.send('PATCH', `/webhooks/${id}`, {
      url: 'https://münchen.example./a',
    });
    expect([status, body.data]).toMatchObject([
      200,
      {
        url: 'https://xn--mnchen-3ya.example./a',
        status: 'UNVERIFIED',
        failures: 0,
        failingSince: null,
        lastError: null,
        retryAt: null,
      },
    ]);
    expect(await app.sql('SELECT host FROM webhooks')).toEqual([{ host: 'xn--mnchen-3ya.example' }]);
  });

  it('is sent nothing while it has not, then what waited, and that events were left out', async () => {
    const [old, next] = [await webhooks.receiver(), await webhooks.receiver()];
    const answer = next.hold('answerChallenge');
    const { id } = await webhooks.subscribe(old.url);
    await addTest(id);
    expect((await webhooks.send('PATCH', `/webhooks/${id}`, { url: next.url })).status).toBe(200);
    // Moved twice, as by a request that is sent again.
    await webhooks.send('PATCH', `/webhooks/${id}`, { url: `${next.url}/2` });
    await until(() => next.challenges.length > 0);
    await app.createPool(webhooks.owner);
    await readable(app);
    await app.sql('UPDATE webhook_deliveries SET next_attempt_at = now() WHERE webhook_id = $1', [id]);
    expect(next.received).toEqual([]);
    answer();
    await verified(app, id);
    await until(() => next.received.length >= 2);
    expect(next.events.map(({ topic }) => topic).sort()).toEqual(['reload', 'test']);
    expect(new Set(next.received.map(({ url }) => url))).toEqual(new Set(['/hook/2']));
    expect(old.received).toEqual([]);
  });

  it('is not proven by an answer to the challenge of the URL before', async () => {
    const [old, next] = [await webhooks.receiver(), await webhooks.receiver()];
    const answer = old.hold('answerChallenge');
    next.answerChallenge = (response) => response.writeHead(404).end();
    const { id } = await webhooks.create(old.url);
    await until(() => old.challenges.length > 0);
    await webhooks.send('PATCH', `/webhooks/${id}`, { url: next.url });
    answer();
    await until(async () => (await webhooks.shown(id)).lastError !== null);
    expect(await webhooks.shown(id)).toMatchObject({
      status: 'UNVERIFIED',
      lastError: 'status 404',
      url: next.url,
    });
  });

  it.each([204, 500, 410])(
    'is not judged by the answer %i that the URL before still gives',
    async (status) => {
      const [target, next] = [await webhooks.receiver(), await webhooks.receiver()];
      next.answerChallenge = (response) => response.writeHead(404).end();
      target.answer = (response) => response.writeHead(status).end();
      const answer = target.hold();
      const { id } = await webhooks.subscribe(target.url);
      await webhooks.test(id);
      await until(() => target.received.length > 0);
      await webhooks.send('PATCH', `/webhooks/${id}`, { url: next.url });
      answer();
      await until(async () =>
        (await webhooks.deliveries(id)).some(({ lastStatus }) => lastStatus === status),
      );
      await until(async () => (await webhooks.shown(id)).lastError !== null);
      expect(await webhooks.shown(id)).toMatchObject({
        status: 'UNVERIFIED',
        failures: 0,
        lastError: 'status 404',
      });
    },
  );

  it('gets the topics that it wants from then on', async () => {
    const target = await webhooks.receiver();
    const { id } = await webhooks.subscribe(target.url, { topics: ['draw.opened'] });
    const answer = await webhooks.send('PATCH', `/webhooks/${id}`, { topics: ['pool.created'] });
    expect(answer.body.data).toMatchObject({ topics: ['pool.created'], status: 'ACTIVE' });
    await app.createPool(webhooks.owner);
    await until(async () => (await webhooks.deliveries(id)).some(({ topic }) => topic === 'pool.created'));
    expect((await webhooks.send('PATCH', `/webhooks/${id}`, { topics: null })).body.data).toMatchObject({
      topics: null,
    });
  });

  it('can be switched off and on, which begins with a challenge', async () => {
    const target = await webhooks.receiver();
    const { id } = await webhooks.subscribe(target.url);
    await addTest(id);
    const off = await webhooks.send('PATCH', `/webhooks/${id}`, { enabled: false });
    expect(off.body.data).toMatchObject({ status: 'DISABLED', failingSince: null, retryAt: null });
    await app.nest.get(ExpiredRows).sweep();
    expect(await webhooks.delivery(id)).toMatchObject({ status: 'FAILED' });
    await app.createPool(webhooks.owner);
    const other = await webhooks.subscribe(target.url);
    await app.createPool(webhooks.owner);
    await until(async () => (await webhooks.deliveries(other.id)).length > 0);
    expect(await webhooks.deliveries(id)).toHaveLength(1);
    // It can be changed meanwhile, and stays off.
    const moved = await webhooks.send('PATCH', `/webhooks/${id}`, { url: `${target.url}/2` });
    expect(moved.body.data).toMatchObject({ status: 'DISABLED', url: `${target.url}/2` });
    const on = await webhooks.send('PATCH', `/webhooks/${id}`, { enabled: true });
    expect(on.body.data).toMatchObject({ status: 'UNVERIFIED', pending: 1 });
    await until(() => target.received.some(({ body }) => body.includes('"topic":"reload"')));
    expect(target.received.map(({ url }) => url)).toContain('/hook/2');
    expect(await webhooks.shown(id)).toMatchObject({ status: 'ACTIVE' });
  });

  it.each([
    [{ url: 'ftp://example.org/' }, 'url'],
    [{ url: `https://example.org/${'ä'.repeat(1000)}` }, 'url'],
    [{ url: 7 }, 'url'],
    [{ topics: [] }, 'topics'],
    [{ topics: ['test'] }, 'topics'],
    [{ enabled: 'no' }, 'enabled'],
  ])('is not changed by %j', async (body, field) => {
    const { id } = await webhooks.subscribe('http://localhost:1/');
    const before = await webhooks.shown(id);
    const answer = await webhooks.send('PATCH', `/webhooks/${id}`, { topics: ['pool.created'], ...body });
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect((answer.body.details as { field: string }[])[0].field).toMatch(new RegExp(`^${field}`));
    expect(await webhooks.shown(id)).toEqual(before);
  });
});

describe('a webhook', () => {
  it.each([
    ['GET', ''],
    ['PATCH', '', { enabled: false }],
    ['DELETE', ''],
    ['POST', '/secret'],
    ['POST', '/test'],
    ['POST', '/challenge'],
    ['GET', '/deliveries'],
    ['POST', '/deliveries/:delivery/retry'],
  ])(
    'is unknown to others, and under another id to its owner: %s %s',
    async (method, path, body = undefined) => {
      const { id } = await webhooks.subscribe('http://localhost:1/');
      const delivery = await addTest(id);
      const { owner } = webhooks;
      const stranger = (webhooks.owner = await app.signIn());
      const { id: theirs } = await webhooks.subscribe('http://localhost:1/');
      const ask = (as: SignedIn | undefined, of: string): Promise<Response> =>
        app.send({ method, url: `/webhooks/${of}${path.replace(':delivery', delivery)}`, body, as });
      const before = await app.sql('SELECT * FROM webhooks');
      expect((await ask(stranger, id)).status).toBe(404);
      expect((await ask(undefined, id)).status).toBe(401);
      for (const unknown of [uuidv7(), 'x']) expect((await ask(owner, unknown)).status).toBe(404);
      // A delivery is not reached by another webhook.
      if (path.includes(':delivery')) expect((await ask(stranger, theirs)).status).toBe(404);
      expect(await app.sql('SELECT * FROM webhooks')).toEqual(before);
    },
  );

  it('has an id that may be written in capitals', async () => {
    const { id } = await webhooks.subscribe('http://localhost:1/');
    expect((await webhooks.shown(id.toUpperCase())).id).toBe(id);
  });
});

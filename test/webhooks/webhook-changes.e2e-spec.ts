import { v7 as uuidv7 } from 'uuid';
import { until, useApp } from '../support/app';
import { readable } from '../support/events/outbox';
import { verified } from '../support/events/receiver';
import { Webhooks } from '../support/events/webhook-user';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const webhooks = new Webhooks(app);

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
    const held: (() => void)[] = [];
    const answer = next.answerChallenge;
    next.answerChallenge = (...args) => held.push(() => answer(...args));
    const { id } = await webhooks.subscribe(old.url);
    await app.sql(
      `INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic, next_attempt_at)
       VALUES ($1, $2, 'x', 'test', now() + interval '1 hour')`,
      [uuidv7(), id],
    );
    expect((await webhooks.send('PATCH', `/webhooks/${id}`, { url: next.url })).status).toBe(200);
    // Moved twice, as by a request that is sent again.
    await webhooks.send('PATCH', `/webhooks/${id}`, { url: `${next.url}/2` });
    await until(() => held.length > 0);
    await app.createPool(webhooks.owner);
    await readable(app);
    await app.sql('UPDATE webhook_deliveries SET next_attempt_at = now() WHERE webhook_id = $1', [id]);
    expect(next.received).toEqual([]);
    next.answerChallenge = answer;
    held.forEach((each) => each());
    await verified(app, id);
    await until(() => next.received.length >= 2);
    expect(next.events.map(({ topic }) => topic).sort()).toEqual(['reload', 'test']);
    expect(new Set(next.received.map(({ url }) => url))).toEqual(new Set(['/hook/2']));
    expect(old.received).toEqual([]);
  });

  it('is not proven by an answer to the challenge of the URL before', async () => {
    const [old, next] = [await webhooks.receiver(), await webhooks.receiver()];
    const held: (() => void)[] = [];
    const answer = old.answerChallenge;
    old.answerChallenge = (...args) => held.push(() => answer(...args));
    next.answerChallenge = (response) => response.writeHead(404).end();
    const { body } = await app.post('/webhooks', { url: old.url }, webhooks.owner);
    const { id } = body.data as { id: string };
    await until(() => held.length > 0);
    await webhooks.send('PATCH', `/webhooks/${id}`, { url: next.url });
    held.forEach((each) => each());
    await until(async () => (await webhooks.shown(id)).lastError !== null);
    expect(await webhooks.shown(id)).toMatchObject({
      status: 'UNVERIFIED',
      lastError: 'status 404',
      url: next.url,
    });
  });

  it('while something is sent to it, is judged by nothing that comes from the URL before', async () => {
    const [target, next] = [await webhooks.receiver(), await webhooks.receiver()];
    next.answerChallenge = (response) => response.writeHead(404).end();
    for (const status of [204, 500, 410]) {
      const held: (() => void)[] = [];
      target.answer = (response) => held.push(() => response.writeHead(status).end());
      const { id } = await webhooks.subscribe(target.url);
      await webhooks.test(id);
      await until(() => held.length > 0);
      await webhooks.send('PATCH', `/webhooks/${id}`, { url: next.url });
      held.forEach((each) => each());
      await until(async () =>
        (await webhooks.deliveries(id)).some(({ lastStatus }) => lastStatus === status),
      );
      await until(async () => (await webhooks.shown(id)).lastError !== null);
      expect(await webhooks.shown(id)).toMatchObject({
        status: 'UNVERIFIED',
        failures: 0,
        lastError: 'status 404',
      });
    }
  });

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
    await app.sql(
      `INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic, next_attempt_at)
       VALUES ($1, $2, 'x', 'test', now() + interval '1 hour')`,
      [uuidv7(), id],
    );
    const off = await webhooks.send('PATCH', `/webhooks/${id}`, { enabled: false });
    expect(off.body.data).toMatchObject({ status: 'DISABLED', failingSince: null, retryAt: null });
    await until(async () => (await webhooks.deliveries(id))[0].status === 'FAILED');
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
    [{ url: 'https://user@example.org/' }, 'url'],
    [{ url: 'https://.../' }, 'url'],
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

  it('is unknown to others, and to its webhooks.owner under another id', async () => {
    const { id } = await webhooks.subscribe('http://localhost:1/');
    const other = await app.signIn();
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { enabled: false }],
      ['POST', '/secret'],
      ['POST', '/test'],
    ] as const) {
      expect((await webhooks.send(method, `/webhooks/${id}${path}`, body, other)).status).toBe(404);
      expect((await app.send({ method, url: `/webhooks/${id}${path}`, body })).status).toBe(401);
      for (const unknown of [uuidv7(), 'x'])
        expect((await webhooks.send(method, `/webhooks/${unknown}${path}`, body)).status).toBe(404);
    }
    expect(await webhooks.shown(id)).toMatchObject({ status: 'ACTIVE' });
    expect((await webhooks.shown(id.toUpperCase())).id).toBe(id);
  });
});

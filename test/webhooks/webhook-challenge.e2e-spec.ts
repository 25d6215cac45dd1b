import { Database } from '#platform/database/database';
import { CLAIM_DELIVERIES } from '#extensions/webhooks/deliveries.sql';
import { type Response, until, useApp } from '../support/app';
import { readable } from '../support/events/outbox';
import { type Receiver, isSigned } from '../support/events/receiver';
import { Webhooks, goForward, looks, verified } from '../support/events/webhooks';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const webhooks = new Webhooks(app);
let target: Receiver;
/** Each test has a host of its own, because challenges to one have a pace. */
let host = 0;

beforeEach(async () => {
  target = await webhooks.receiver();
  host++;
});

interface Row {
  status: string;
  error: string | null;
  tries: number;
  due: boolean;
}
const create = async (): Promise<{ id: string; secret: string }> =>
  webhooks.create(target.urlAt(`127.0.7.${host}`));
const row = async (id: string): Promise<Row> =>
  (
    await app.sql<Row>(
      `SELECT status, last_error AS error, challenge_tries AS tries, due_at IS NOT NULL AS due FROM webhooks WHERE id = $1`,
      [id],
    )
  )[0];
const ask = (id: string): Promise<Response> => webhooks.send('POST', `/webhooks/${id}/challenge`);

it('nothing is sent but the challenge, until it is answered; then what happens from then on', async () => {
  const answer = target.hold('answerChallenge');
  const { id, secret } = await create();
  await until(() => target.challenges.length === 1);
  const [challenge] = target.challenges;
  expect(isSigned(challenge, secret)).toBe(true);
  expect(JSON.parse(challenge.body)).toEqual({
    id: challenge.headers['webhook-id'],
    topic: 'challenge',
    occurredAt: expect.any(String) as unknown,
    challenge: expect.stringMatching(/^[\w-]{43}$/) as unknown,
  });
  const before = await app.createPool(webhooks.owner);
  await readable(app);
  answer();
  await verified(app, id);
  const after = await app.createPool(webhooks.owner);
  await until(() => target.received.length === 1);
  expect(target.events[0]).toMatchObject({ topic: 'pool.created', poolId: after.id });
  expect(before.id).not.toBe(after.id);
  expect(await webhooks.deliveries(id)).toHaveLength(1);
});

it('a server that answers something else gets no events', async () => {
  target.answerChallenge = (response) => response.end('ok');
  const { id } = await create();
  await until(async () => (await row(id)).error);
  const error = 'the challenge was not answered';
  expect(await row(id)).toEqual({ status: 'UNVERIFIED', error, tries: 1, due: true });
  await app.createPool(webhooks.owner);
  await readable(app);
  expect(await app.sql('SELECT FROM webhook_deliveries WHERE webhook_id = $1', [id])).toEqual([]);
  expect(target.challenges).toHaveLength(1);
});

it('comes three times, and then only when its owner asks, once a minute', async () => {
  target.answerChallenge = (response) => response.writeHead(404).end();
  const { id } = await create();
  for (let tries = 1; tries <= 3; tries++) {
    await until(async () => (await row(id)).error);
    expect(await row(id)).toMatchObject({ status: 'UNVERIFIED', error: 'status 404', tries, due: tries < 3 });
    expect(target.challenges).toHaveLength(tries);
    // It was made this moment, however long this takes.
    await app.sql('UPDATE webhooks SET last_error = NULL, challenge_asked_at = now() WHERE id = $1', [id]);
    expect((await ask(id)).status).toBe(409);
    if (tries < 3) await app.sql(`UPDATE webhooks SET retry_at = now() WHERE id = $1`, [id]);
  }
  await goForward(app, id, '1 minute');
  const asked = await Promise.all([ask(id), ask(id), ask(id)]);
  expect(asked.map(({ status }) => status).sort()).toEqual([202, 409, 409]);
  await until(() => target.challenges.length === 4);
  expect(new Set(target.challenges.map(({ body }) => body)).size).toBe(4);
});

it('that of a webhook that is ACTIVE or PAUSED is not needed; that of one that is DISABLED ends that', async () => {
  const { id } = await create();
  await verified(app, id);
  await goForward(app, id, '1 minute');
  for (const status of ['ACTIVE', 'PAUSED']) {
    await app.sql('UPDATE webhooks SET status = $2 WHERE id = $1', [id, status]);
    expect((await ask(id)).status).toBe(409);
  }
  await app.sql(`UPDATE webhooks SET status = 'DISABLED', failures = 9 WHERE id = $1`, [id]);
  expect((await ask(id)).status).toBe(202);
  await verified(app, id);
  expect(target.challenges).toHaveLength(2);
  // Its server learns that what happened meanwhile was left out.
  await until(() => target.events.some(({ topic }) => topic === 'reload'));
});

it('a delivery that is sent again does not undo its waits', async () => {
  const { id } = await create();
  await verified(app, id);
  await app.createPool(webhooks.owner);
  await until(() => target.received.length === 1);
  const [{ delivery }] = await app.sql<{ delivery: string }>(
    `UPDATE webhooks SET status = 'UNVERIFIED', retry_at = 'infinity' WHERE id = $1
     RETURNING (SELECT id FROM webhook_deliveries WHERE webhook_id = $1) AS delivery`,
    [id],
  );
  expect((await webhooks.retry(id, delivery)).body.data).toMatchObject({ status: 'PENDING' });
  expect(await app.sql('SELECT retry_at FROM webhooks WHERE id = $1', [id])).toEqual([
    { retry_at: Infinity },
  ]);
});

it('a process that is killed takes just one try with it, and nobody else sends that', async () => {
  const usual = target.answerChallenge;
  target.answerChallenge = (response) => response.destroy();
  const { id } = await create();
  await until(async () => (await row(id)).error);
  const [{ wait }] = await app.sql<{ wait: number }>(
    `SELECT date_part('epoch', retry_at - challenge_asked_at)::float8 AS wait FROM webhooks WHERE id = $1`,
    [id],
  );
  expect(wait).toBeGreaterThanOrEqual(30);
  await app.sql(`UPDATE webhooks SET retry_at = now() + interval '1 hour' WHERE id = $1`, [id]);
  const claim = { webhooks: [id], lanes: ['challenge' as const], most: [1] };
  expect(await app.nest.get(Database).writeAll(CLAIM_DELIVERIES, claim)).toEqual([]);
  target.answerChallenge = usual;
  await app.sql(`UPDATE webhooks SET retry_at = now() WHERE id = $1`, [id]);
  await verified(app, id);
  expect(target.challenges).toHaveLength(2);
});

it('a host that does not answer gets ten in a minute from all users together, and nothing by POST /pools', async () => {
  target.answerChallenge = (response) => response.writeHead(404).end();
  const members: string[] = [];
  for (let user = 0; user < 3; user++) {
    for (let n = 0; n < 5; n++) await create();
    members.push(webhooks.owner.address);
    webhooks.owner = await app.signIn();
  }
  await until(async () => (await app.sql('SELECT FROM webhooks WHERE last_error IS NOT NULL')).length === 10);
  await looks(3);
  expect(target.challenges).toHaveLength(10);
  await app.createPool(webhooks.owner, { type: 'cooperative', members });
  await readable(app);
  expect(await app.sql('SELECT FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id')).toEqual(
    [],
  );
  expect([target.received.length, target.challenges.length]).toEqual([0, 10]);
});

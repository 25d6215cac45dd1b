import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { getRepositoryToken } from '@nestjs/typeorm';
import type { ServerResponse } from 'node:http';
import pino from 'pino';
import type { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Database } from '#platform/database/database';
import { CHALLENGED, CLAIM_CHALLENGES } from '#features/webhooks/challenges.sql';
import { Webhook } from '#features/webhooks/webhook.entity';
import { createApp } from '#api/app.setup';
import { type SignedIn, settings, until, useApp } from '../support/app';
import { readable } from '../support/events/outbox';
import { Receiver, isSigned, verified } from '../support/events/receiver';
import { goForward } from '../support/events/webhooks';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
let owner: SignedIn;
let target: Receiver;
/** Each test has a host of its own, because challenges to one have a pace. */
let host = 0;
const urlOf = ({ port }: Receiver): string => `http://127.0.7.${host}:${port}/hook`;

beforeAll(async () => {
  await until(async () => (await app.sql('SELECT FROM outbox_consumers')).length > 0);
});
beforeEach(async () => {
  owner = await app.signIn();
  target = await new Receiver().start('0.0.0.0');
  host++;
});
afterEach(async () => {
  await app.sql('DELETE FROM webhooks');
  await target.stop();
});

interface Row {
  status: string;
  error: string | null;
  tries: number;
  due: boolean;
}
const create = async (user = owner, url = urlOf(target)): Promise<{ id: string; secret: string }> =>
  (await app.post('/webhooks', { url }, user)).body.data as { id: string; secret: string };
const row = async (id: string): Promise<Row> =>
  (
    await app.sql<Row>(
      `SELECT status, last_error AS error, challenge_tries AS tries, due_at IS NOT NULL AS due FROM webhooks WHERE id = $1`,
      [id],
    )
  )[0];
const ask = (id: string, user: SignedIn | undefined = owner) =>
  app.send({ method: 'POST', url: `/webhooks/${id}/challenge`, as: user });
/** Keeps answers to challenges until `answer` is called. */
function hold(): { answer: () => void } {
  const held: [ServerResponse, string][] = [];
  target.answerChallenge = (response, { body }) => {
    held.push([response, (JSON.parse(body) as { challenge: string }).challenge]);
  };
  return { answer: () => held.splice(0).forEach(([response, text]) => response.end(text)) };
}

it('nothing is sent but the challenge, until it is answered; then what happens from then on', async () => {
  const { answer } = hold();
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
  const before = await app.createPool(owner);
  await readable(app);
  answer();
  await verified(app, id);
  const after = await app.createPool(owner);
  await until(() => target.received.length === 1);
  expect(target.events[0]).toMatchObject({ topic: 'pool.created', poolId: after.id });
  expect(before.id).not.toBe(after.id);
  expect((await app.get(`/webhooks/${id}/deliveries`, owner)).body.data).toHaveLength(1);
});

it.each<[string, Receiver['answerChallenge'], string]>([
  ['an empty 204', (response) => response.writeHead(204).end(), 'the challenge was not answered'],
  ['another text', (response) => response.end('ok'), 'the challenge was not answered'],
  ['all that it was sent', (response, { body }) => response.end(body), 'the challenge was not answered'],
  [
    'the challenge and more than is read',
    (response, { body }) =>
      response.end(`${(JSON.parse(body) as { challenge: string }).challenge}${' '.repeat(2000)}x`),
    'the challenge was not answered',
  ],
  [
    'the challenge, with another status',
    (response, { body }) =>
      response.writeHead(500).end((JSON.parse(body) as { challenge: string }).challenge),
    'status 500',
  ],
  [
    'a redirect to where it is answered',
    (response) => response.writeHead(307, { location: `${target.url}2` }).end(),
    'redirects are not followed',
  ],
])('a server that answers %s gets no events', async (_, answer, error) => {
  target.answerChallenge = answer;
  const { id } = await create();
  await until(async () => (await row(id)).error);
  expect(await row(id)).toEqual({ status: 'UNVERIFIED', error, tries: 1, due: true });
  await app.createPool(owner);
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
    expect((await ask(id)).status).toBe(409);
    await app.sql('UPDATE webhooks SET last_error = NULL WHERE id = $1', [id]);
    if (tries < 3) await app.sql(`UPDATE webhooks SET retry_at = now() WHERE id = $1`, [id]);
  }
  await goForward(app, id, '1 minute');
  const other = await app.signIn();
  expect((await ask(id, other)).status).toBe(404);
  expect((await ask(uuidv7())).status).toBe(404);
  expect((await app.send({ method: 'POST', url: `/webhooks/${id}/challenge` })).status).toBe(401);
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
});

it('a delivery that is sent again does not undo its waits', async () => {
  const { id } = await create();
  await verified(app, id);
  await app.createPool(owner);
  await until(() => target.received.length === 1);
  const [{ delivery }] = await app.sql<{ delivery: string }>(
    `UPDATE webhooks SET status = 'UNVERIFIED', retry_at = 'infinity' WHERE id = $1
     RETURNING (SELECT id FROM webhook_deliveries WHERE webhook_id = $1) AS delivery`,
    [id],
  );
  const url = `/webhooks/${id}/deliveries/${delivery}/retry`;
  expect((await app.send({ method: 'POST', url, as: owner })).body.data).toMatchObject({ status: 'PENDING' });
  expect(await app.sql('SELECT retry_at FROM webhooks WHERE id = $1', [id])).toEqual([
    { retry_at: Infinity },
  ]);
});

it('a process that is killed takes just one try with it', async () => {
  target.answerChallenge = (response) => response.destroy();
  const { id } = await create();
  await until(async () => (await row(id)).error);
  // Nobody else sends it meanwhile.
  expect(await app.nest.get(Database).writeAll(CLAIM_CHALLENGES, { webhooks: [id] })).toEqual([]);
  target.answerChallenge = (response, { body }) =>
    response.end((JSON.parse(body) as { challenge: string }).challenge);
  await app.sql(`UPDATE webhooks SET retry_at = now() WHERE id = $1`, [id]);
  await verified(app, id);
  expect(target.challenges).toHaveLength(2);
});

it('an answer of the URL before does not prove the new one, nor brings back a webhook that was deleted', async () => {
  const first = hold();
  const { id } = await create();
  const other = await app.signIn();
  const { id: deleted } = await create(other);
  await until(() => target.challenges.length === 2);
  const webhooks = app.nest.get<Repository<Webhook>>(getRepositoryToken(Webhook));
  const elsewhere = await new Receiver().start();
  elsewhere.answerChallenge = (response) => response.writeHead(404).end();
  await webhooks.update({ id }, { ...CHALLENGED, url: elsewhere.url, host: '127.0.0.1' });
  expect((await app.send({ method: 'DELETE', url: `/webhooks/${deleted}`, as: other })).status).toBe(200);
  first.answer();
  await until(() => elsewhere.challenges.length === 1);
  await until(async () => (await row(id)).error);
  expect(await row(id)).toMatchObject({ status: 'UNVERIFIED', error: 'status 404', tries: 1 });
  expect(await row(deleted)).toBeUndefined();
  await elsewhere.stop();
});

describe('several processes', () => {
  const replicas: NestFastifyApplication[] = [];
  afterEach(async () => {
    for (const each of replicas.splice(0)) await each.close();
  });

  it('send each challenge once', async () => {
    const environment = settings(app.database.url, { WEBHOOK_ALLOW_PRIVATE: 'true' });
    replicas.push(await createApp(environment, pino({ level: 'silent' })));
    await replicas[0].init();
    for (let n = 0; n < 8; n++) await verified(app, (await create()).id);
    expect(target.challenges).toHaveLength(8);
  });
});

it('a host that does not answer gets ten in a minute, whoever names it, and nothing by POST /pools', async () => {
  target.answerChallenge = (response) => response.writeHead(404).end();
  const users = await Promise.all(Array.from({ length: 6 }, () => app.signIn()));
  for (const user of users) for (let n = 0; n < 10; n++) await create(user);
  // Each was sent or put off.
  await until(async () => (await app.sql('SELECT FROM webhooks WHERE due_at <= now()')).length === 0);
  expect(target.challenges.length).toBeLessThanOrEqual(10);
  const sent = target.challenges.length;
  await app.createPool(owner, { type: 'cooperative', members: users.map(({ address }) => address) });
  await readable(app);
  expect(await app.sql('SELECT FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id')).toEqual(
    [],
  );
  expect([target.received.length, target.challenges.length]).toEqual([0, sent]);
});

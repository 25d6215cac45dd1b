import { type Response, until, useApp } from '../support/app';
import { Webhooks } from '../support/events/webhooks';

const app = useApp({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const webhooks = new Webhooks(app);

describe('ending all sessions', () => {
  const logout = (body?: unknown): Promise<Response> => webhooks.send('POST', '/auth/logout/all', body);

  it.each([undefined, {}, { webhooks: false }, { webhooks: null }])(
    'lists the webhooks, which stay: %j',
    async (body) => {
      const first = await webhooks.subscribe('http://localhost:1/1');
      const second = await webhooks.subscribe('http://localhost:1/2');
      const answer = await logout(body);
      expect(answer.body.data).toEqual({
        ended: 'all',
        webhooks: [
          { id: second.id, url: 'http://localhost:1/2', ended: false },
          { id: first.id, url: 'http://localhost:1/1', ended: false },
        ],
      });
      expect(await app.sql('SELECT FROM webhooks')).toHaveLength(2);
    },
  );

  it('ends them if it is told to, and no other user’s', async () => {
    const { id } = await webhooks.subscribe('http://localhost:1/1');
    const [first, other] = [webhooks.owner, await app.signIn()];
    webhooks.owner = other;
    await webhooks.subscribe('http://localhost:1/2');
    webhooks.owner = first;
    expect((await logout({ webhooks: true })).body.data).toEqual({
      ended: 'all',
      webhooks: [{ id, url: 'http://localhost:1/1', ended: true }],
    });
    expect(await app.sql('SELECT user_id FROM webhooks')).toEqual([{ user_id: other.user.id }]);
  });

  it('does neither for a body that says something else', async () => {
    await webhooks.subscribe('http://localhost:1/1');
    for (const webhooks of ['yes', 1, {}, [true]]) {
      const answer = await logout({ webhooks });
      expect([answer.status, answer.body.details]).toMatchObject([400, [{ field: 'webhooks' }]]);
    }
    expect((await app.get('/auth/me', webhooks.owner)).status).toBe(200);
    expect(await app.sql('SELECT FROM webhooks')).toHaveLength(1);
  });

  it.each([
    ['made', 'POST', '', { url: 'https://evil.example/' }],
    ['moved', 'PATCH', '/:id', { url: 'https://evil.example/' }],
    ['given another secret', 'POST', '/:id/secret', undefined],
    ['tested', 'POST', '/:id/test', undefined],
    ['challenged', 'POST', '/:id/challenge', undefined],
  ])('leaves no moment in which a webhook is %s unseen', async (_what, method, path, body) => {
    const { id } = await webhooks.subscribe('http://localhost:1/');
    const rows = (): Promise<unknown> =>
      app.sql('SELECT id, url, secret, (SELECT count(*) FROM webhook_deliveries) FROM webhooks');
    const before = await rows();
    const ending = await app.connect();
    // The request has been found good, as at a replica that has not heard of the end yet.
    await ending.query('BEGIN');
    await ending.query('UPDATE users SET session_generation = session_generation + 1 WHERE id = $1', [
      webhooks.owner.user.id,
    ]);
    const late = webhooks.send(method, `/webhooks${path.replace(':id', id)}`, body);
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await until(async () => (await app.sql(waiting)).length > 0);
    await ending.query('COMMIT');
    const answer = await late;
    expect([answer.status, answer.body.code]).toEqual([401, 'token_revoked']);
    expect(await rows()).toEqual(before);
  });
});

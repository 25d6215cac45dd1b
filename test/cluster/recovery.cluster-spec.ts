import { EventReader } from '../support/events/event-source';
import { migrate } from '../support/database';
import { eventually } from '../support/processes/processes';
import { newWallet, siweMessage } from '../support/wallet';
import { type Caller, signIn } from '../fleet/http';
import { Cluster } from './cluster';
import { type PaidPool, SmallService } from './small-service';

const LIMIT_MS = 120_000;
const RECOVERED = { code: 0, differences: {}, complete: true, notChecked: [] };

/** What deploy/RECOVERY.md says, done by its script on a cluster with the service on it. */
describe('recovery to just before a mistake', () => {
  let cluster: Cluster;
  let service: SmallService;
  const readers: EventReader[] = [];

  const recover = (...command: string[]): Promise<string> => cluster.script('recover.sh', ...command);
  /** As the person who makes the mistake: past the service. @returns what the statement printed */
  const asOperator = async (text: string): Promise<string> =>
    cluster.run('psql', (await cluster.leader())!, '-d', 'savings', '-Atq', '-c', text);
  const status = async ({ token }: Caller, path = '/auth/me'): Promise<number> =>
    (await service.http.send(path, { token })).status;

  beforeAll(async () => {
    cluster = await Cluster.up();
    await migrate(cluster.url);
    service = await SmallService.prepare(cluster.url, cluster.urls);
    await service.start();
    await service.followsChain();
    await recover('backup');
  }, 3 * LIMIT_MS);
  afterAll(async () => {
    for (const reader of readers) reader.close();
    await service?.destroy();
    await cluster?.destroy();
  });

  async function follow({ token }: Caller, lastEventId?: string): Promise<EventReader> {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(lastEventId && { 'last-event-id': lastEventId }),
    };
    const reader = await new EventReader().open(service.api.port, '/events', headers);
    readers.push(reader);
    return reader;
  }

  /** A sign-in whose request can be sent again. */
  async function signedRequest(): Promise<{ message: string; signature: string }> {
    const wallet = newWallet();
    const asked = await service.http.send('/auth/nonce', {
      method: 'POST',
      body: { address: wallet.address },
    });
    const message = siweMessage({ address: wallet.address, nonce: asked.body.nonce as string });
    return { message, signature: await wallet.signMessage({ message }) };
  }
  const verifySignature = async (body: object): Promise<number> =>
    (await service.http.send('/auth/verify', { method: 'POST', body })).status;

  it.each([
    ['a dropped table, and pools that were created after it', 'DROP TABLE positions', 200],
    // A second time, so from the backup that the first recovery made, on the timeline that it began.
    ['an UPDATE without WHERE', `UPDATE idempotency_keys SET response = 'gone', created_at = now()`, 404],
  ])(
    '%s',
    async (_, mistake, expected) => {
      const saver = await signIn(service.http);
      const pools: PaidPool[] = [];
      for (let i = 0; i < 3; i++)
        pools.push(await service.createPool(saver.token, { 'idempotency-key': `${i}` }));
      await service.pay(pools[0]);
      const replayed = await signedRequest();
      await service.followsChain();
      const counted = await asOperator('SELECT count(*) FROM transactions');
      // The rest of the rows, so that the statement is among those that `find` shows.
      await asOperator(
        `INSERT INTO idempotency_keys SELECT gen_random_uuid(), n::text, 'x', '{}', now() FROM generate_series(1, 200) n`,
      );

      const xid = (await asOperator(`BEGIN; ${mistake}; SELECT pg_current_xact_id(); COMMIT`))
        .split('\n')
        .at(-1)!;

      // Until somebody notices, the service goes on and tells clients what will be taken back.
      const reader = await follow(saver);
      const key = { 'idempotency-key': 'after-the-mistake' };
      const lost = await service.createPool(saver.token, key);
      await eventually(() =>
        reader.events.some(({ data }) => (data as PaidPool & { poolId: string }).poolId === lost.id),
      );
      const lastEventId = reader.lastEventId;
      const newcomer = await signIn(service.http);
      await service.createPool(newcomer.token);
      expect(await verifySignature(replayed)).toBe(200);
      const revoked = await signIn(service.http, saver.wallet);
      expect((await service.http.send('/auth/logout', { method: 'POST', token: revoked.token })).status).toBe(
        200,
      );
      await service.pay(pools[1]);
      await service.pay(lost);

      await service.stop();
      const moments = (await recover('find'))
        .split('\n')
        .map((line) => line.trim().split(/\s{2,}|\s+(?=\d+ )/));
      expect(moments.flat()).toContain(xid);
      await recover('beside', 'xid', xid);
      expect(await recover('psql', '-d', 'savings', '-Atc', 'SELECT count(*) FROM transactions')).toBe(
        counted,
      );
      if (expected === 200) expect(await recover('bring-back')).toBe('pools brought back: 2');
      else await expect(recover('bring-back')).rejects.toThrow('invalid input syntax for type json');
      await recover('switch');
      await service.start();
      await service.followsChain();

      expect(await asOperator('SELECT count(*) > 0 FROM positions')).toBe('t');
      expect(await asOperator(`SELECT count(*) FROM idempotency_keys WHERE response = 'gone'`)).toBe('0');
      expect(await service.verify()).toEqual(RECOVERED);
      // Every node follows the recovered one, synchronously.
      await cluster.run('wait');

      for (const each of [saver, revoked, newcomer]) expect(await status(each)).toBe(401);
      expect(await verifySignature(replayed)).toBe(401);
      const again = await signIn(service.http, saver.wallet);
      for (const { id } of pools) expect(await status(again, `/pools/${id}`)).toBe(200);
      expect(await status(again, `/pools/${lost.id}`)).toBe(expected);
      for (const { id } of expected === 200 ? [pools[1], lost] : [pools[1]]) {
        const paid = await service.http.send(`/transactions?poolId=${id}`, { token: again.token });
        expect((paid.body.data as { status: string }[]).map(({ status: is }) => is)).toContain('CONFIRMED');
      }
      // The client that repeats its request.
      const repeated = await service.createPool(again.token, key);
      expect(repeated.id === lost.id).toBe(expected === 200);

      // Clients that saw reverted events learn of it, and get the next ones.
      const resumed = await follow(again, lastEventId);
      await eventually(() => resumed.events.some(({ event }) => event === 'reload'));
      const next = await service.createPool(again.token);
      await eventually(() =>
        resumed.events.some(({ data }) => (data as { poolId?: string }).poolId === next.id),
      );
      expect(resumed.lastEventId > lastEventId).toBe(true);
    },
    3 * LIMIT_MS,
  );
});

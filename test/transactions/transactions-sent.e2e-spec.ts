import { type SignedIn, TEN, useApp } from '../support/app';
import { newHash } from '../support/ledger';
import { type Fields, type PublishedRow, READ_ALL, TOLD, foldOutbox } from '../support/events/outbox';

const app = useApp();
let owner: SignedIn;
let member: SignedIn;
let pool: { id: string; depositId: string };

beforeEach(async () => {
  owner = await app.signIn();
  member = await app.signIn();
  pool = await app.createPool(owner, { type: 'cooperative', members: [member.address] });
});

// After every test the events say what the tables say.
afterEach(async () => expect(foldOutbox(await app.sql<PublishedRow>(READ_ALL))).toEqual(await app.sql(TOLD)));

const sent = (hash: unknown, as: SignedIn = owner, id = pool.depositId) =>
  app.post(`/transactions/${id}/sent`, { hash }, as);
/** The indexer has looked at what was told, and no node knows it. */
const lookedFor = () => app.sql('UPDATE submissions SET checks = 1');
const takeBack = (query = '', as: SignedIn = owner) =>
  app.send({ method: 'DELETE', url: `/transactions/${pool.depositId}/sent${query}`, as });
const calls = () => app.get(`/pools/${pool.id}/calls/deposit?transaction=${pool.depositId}`, owner);

/** `submitted` wherever the deposit is shown. */
async function shown(as: SignedIn): Promise<unknown[]> {
  const { depositId, id } = pool;
  const [byId, list, after, ofPool, ofPoolAfter, detail, pools] = await Promise.all([
    app.get(`/transactions/by-id/${depositId}`, as),
    app.get('/transactions', as),
    app.get('/transactions?order=asc', as),
    app.get(`/transactions?poolId=${id}`, as),
    app.get(`/transactions?poolId=${id}&order=asc`, as),
    app.get(`/pools/${id}`, as),
    app.get('/pools', as),
  ]);
  const items = [list, after, ofPool, ofPoolAfter].map(({ body }) => body.data[0]);
  return [
    byId.body.data,
    ...items,
    detail.body.data.transactions[0],
    pools.body.data[0].recentTransactions[0],
  ].map(({ submitted }) => submitted as unknown);
}
const everywhere = (value: unknown): unknown[] => Array<unknown>(7).fill(value);

/** Of this pool's deposit, oldest first. */
const told = async (): Promise<unknown[]> =>
  (await app.sql<PublishedRow>(READ_ALL))
    .flatMap(({ items }) => items as Fields[])
    .filter(({ topic, poolId }) => topic === 'deposit.submitted' && poolId === pool.id);

/** As the indexer does. */
const confirm = (hash: string) =>
  app.sql(
    `UPDATE transactions SET status = 'CONFIRMED', tx_hash = $2, block_number = 1, log_index = 0, confirmed_at = now()
     WHERE id = $1`,
    [pool.depositId, hash],
  );
const undo = () =>
  app.sql(
    `UPDATE transactions SET status = 'PENDING', tx_hash = NULL, block_number = NULL, log_index = NULL,
       confirmed_at = NULL WHERE id = $1`,
    [pool.depositId],
  );

describe('a payment that was sent', () => {
  it('is shown to all who may read the deposit, wherever it is shown, and told to them', async () => {
    expect(await shown(owner)).toEqual(everywhere(null));
    const hash = newHash();
    const { status, body } = await sent(hash.replace('a', 'A'));
    const submitted = { hash, at: expect.stringMatching(/^\d{4}-.*Z$/) as unknown };
    expect([status, body.data.status, body.data.txHash, body.data.submitted]).toEqual([
      200,
      'PENDING',
      null,
      submitted,
    ]);
    expect(await shown(owner)).toEqual(everywhere(submitted));
    expect(await shown(member)).toEqual(everywhere(submitted));
    const event = { poolId: pool.id, transactionId: pool.depositId, account: owner.address, amount: TEN };
    expect(await told()).toEqual([
      { topic: 'deposit.submitted', occurredAt: expect.any(String) as unknown, ...event, txHash: hash },
    ]);
  });

  it('refuses a second one, until it is taken back', async () => {
    // The chain is not known here.
    expect((await calls()).body.code).toBe('chain_unknown');
    const hash = newHash();
    await sent(hash);
    expect([(await calls()).status, (await calls()).body.code]).toEqual([409, 'deposit_submitted']);
    const amount = await app.get(`/pools/${pool.id}/calls/deposit?amount=${TEN}`, owner);
    expect(amount.body.code).toBe('chain_unknown');
    // The wallet has just sent it.
    const checks = async (): Promise<unknown> =>
      (await app.sql('SELECT checks FROM submissions WHERE hash = $1', [hash]))[0]?.checks;
    expect((await takeBack()).body.data.submitted).not.toBeNull();
    // The next look forgets it where no node has it.
    expect(await checks()).toBe(-1);
    await sent(hash);
    expect(await checks()).toBe(0);
    await lookedFor();
    const { status, body } = await takeBack();
    expect([status, body.data.submitted]).toEqual([200, null]);
    expect(await shown(member)).toEqual(everywhere(null));
    expect((await calls()).body.code).toBe('chain_unknown');
    expect((await told()).at(-1)).toMatchObject({ txHash: null });
    // Again it is no change.
    expect((await takeBack()).status).toBe(200);
    expect(await told()).toHaveLength(2);
  });

  it('is no news twice, and gives way to another one', async () => {
    const [first, second] = [newHash(), newHash()];
    await sent(first);
    const [{ at }] = await app.sql<{ at: Date }>('SELECT at FROM submissions WHERE hash = $1', [first]);
    await sent(first);
    expect(await app.sql('SELECT at FROM submissions WHERE hash = $1', [first])).toEqual([{ at }]);
    expect(await told()).toHaveLength(1);
    await Promise.all([sent(second), sent(second)]);
    expect(await told()).toMatchObject([{ txHash: first }, { txHash: second }]);
    await lookedFor();
    // A tab whose payment failed does not take back that of another.
    const { body } = await takeBack(`?hash=${first}`);
    expect(body.data.submitted.hash).toBe(second);
    expect(
      (await takeBack(`?hash=${second.toUpperCase().replace('0X', '0x')}`)).body.data.submitted,
    ).toBeNull();
  });

  it('is refused without a hash', async () => {
    for (const hash of [undefined, null, '', '0x1', 7, `${newHash()}0`])
      expect((await sent(hash)).body.code).toBe('validation_failed');
    expect((await takeBack('?hash=0x1')).body.code).toBe('validation_failed');
    expect(await app.sql('SELECT FROM submissions WHERE account = $1', [owner.address])).toEqual([]);
  });

  it('that comes to the chain is told no more, whatever hash was told, and late telling is no error', async () => {
    const [lie, truth] = [newHash(), newHash()];
    await sent(lie);
    await confirm(truth);
    expect(await shown(owner)).toEqual(everywhere(null));
    expect(await told()).toHaveLength(1);
    for (const hash of [truth, lie]) {
      const { status, body } = await sent(hash);
      expect([status, body.data.status, body.data.submitted]).toEqual([200, 'CONFIRMED', null]);
    }
    expect(await app.sql('SELECT FROM submissions WHERE account = $1', [owner.address])).toEqual([]);
    expect((await calls()).body.code).toBe('transaction_not_pending');
  });

  it('that a reorganisation takes back is on its way again, though nobody told it', async () => {
    const [told1, mined] = [newHash(), newHash()];
    await sent(told1);
    await confirm(mined);
    await undo();
    expect((await shown(owner))[0]).toMatchObject({ hash: mined });
    expect((await calls()).body.code).toBe('deposit_submitted');
    expect(await told()).toMatchObject([{ txHash: told1 }, { txHash: mined }]);
    await takeBack();
    expect((await calls()).body.code).toBe('deposit_submitted');
  });

  it('that a node has shown cannot be taken back, as it may still be mined: it is looked at now', async () => {
    const hash = newHash();
    await sent(hash);
    for (const shownBy of ['known = true', `known = false, sender = '${owner.address}', nonce = 1`]) {
      await app.sql(`UPDATE submissions SET ${shownBy}, check_at = 'infinity' WHERE hash = $1`, [hash]);
      expect((await takeBack()).body.data.submitted.hash).toBe(hash);
      expect(
        await app.sql('SELECT check_at <= now() AS due FROM submissions WHERE hash = $1', [hash]),
      ).toEqual([{ due: true }]);
      expect((await calls()).body.code).toBe('deposit_submitted');
    }
    // Another hash starts from nothing.
    await sent(newHash());
    await lookedFor();
    expect((await takeBack()).body.data.submitted).toBeNull();
  });

  it('of a deposit that has expired is kept for the case that it has not', async () => {
    await sent(newHash());
    await app.sql(`UPDATE transactions SET status = 'EXPIRED' WHERE id = $1`, [pool.depositId]);
    expect(await shown(owner)).toEqual(everywhere(null));
    const late = newHash();
    const { status, body } = await sent(late);
    expect([status, body.data.status, body.data.submitted]).toEqual([200, 'EXPIRED', null]);
    expect(await told()).toHaveLength(1);
    await undo();
    expect((await shown(owner))[0]).toMatchObject({ hash: late });
    expect(await told()).toHaveLength(2);
  });

  it('of many that are told at once for one deposit leaves one row, and the last is shown', async () => {
    const hashes = Array.from({ length: 20 }, newHash);
    const answers = await Promise.all(hashes.map((hash) => sent(hash)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const rows = await app.sql<{ hash: string }>('SELECT hash FROM submissions WHERE transaction_id = $1', [
      pool.depositId,
    ]);
    expect(rows).toHaveLength(1);
    expect((await shown(owner))[0]).toMatchObject(rows[0]);
  });
});

import { v7 as uuidv7 } from 'uuid';
import { CONTRACTS, type Request, type SignedIn, useApp } from '../support/app';
import { ENDPOINTS } from '../support/endpoints';
import { addPosition, addTransaction, newHash } from '../support/ledger';

const FORBIDDEN = { success: false, error: 'Forbidden', code: 'forbidden' };
const NOT_FOUND = { success: false, error: 'Not found', code: 'not_found' };
const app = useApp();
/** The payer has paid into the pool without being its member. */
const WHO = ['owner', 'member', 'payer', 'stranger'] as const;
const people = {} as Record<(typeof WHO)[number], SignedIn>;
/** What stands for the placeholders in the paths below. */
const ids: Record<string, string> = {};

beforeAll(async () => {
  for (const each of WHO) people[each] = await app.signIn();
  const { owner, member, payer } = people;
  const pool = await app.createPool(owner, { type: 'cooperative', members: [member.address] });
  const paid = await addTransaction(app, { poolId: pool.id, account: payer.address });
  const own = await addTransaction(app, { poolId: pool.id, account: owner.address });
  await addPosition(app, pool.id as string, payer.address, { balance: 1000, deposited: 1000 });
  const token = `0x${'7'.repeat(40)}`;
  await app.sql(`INSERT INTO chain_facts VALUES (1, 5, '${token}', 'USD', 18)`);
  await app.sql(`INSERT INTO chain_tokens VALUES ('${CONTRACTS.cooperative}', '${token}', 'USD', 18)`);
  const { id, depositId } = pool as { id: string; depositId: string };
  Object.assign(ids, { pool: id, pending: depositId, own: own.id, paid: paid.id });
  Object.assign(ids, { ownHash: own.txHash, paidHash: paid.txHash });
});

const TERMS = `contribution=100&period=3600&joinBy=2099-01-01T00:00:00Z&members=0x${'0a'.repeat(20)},0x${'0b'.repeat(20)}`;
/** Statuses for owner, member, payer and stranger. What a member changes comes last. */
const RULES: [endpoint: string, statuses: string][] = [
  ['GET /pools/{pool}', '200 200 403 403'],
  ['PATCH /pools/{pool}', '200 403 403 403'],
  ['DELETE /pools/{pool}', '409 403 403 403'],
  ['GET /pools/{pool}/yield', '200 200 403 403'],
  ['GET /pools/{pool}/position', '200 200 200 403'],
  ['GET /pools/{pool}/rounds', '404 404 403 403'],
  ['GET /transactions?poolId={pool}', '200 200 200 403'],
  ['GET /transactions?order=asc&poolId={pool}', '200 200 200 403'],
  ['GET /transactions/by-id/{own}', '200 200 403 403'],
  ['GET /transactions/by-id/{paid}', '200 200 200 403'],
  ['GET /transactions/{ownHash}', '200 200 403 403'],
  ['GET /transactions/{paidHash}', '200 200 200 403'],
  ['GET /pools/{pool}/calls/deposit?transaction={pending}', '200 403 403 403'],
  ['POST /transactions/{pending}/sent', '200 403 403 403'],
  ['DELETE /transactions/{pending}/sent', '200 403 403 403'],
  ['GET /pools/{pool}/calls/deposit?amount=1', '200 200 403 403'],
  ['GET /pools/{pool}/calls/withdraw?amount=1', '200 200 200 403'],
  ['GET /pools/{pool}/calls/claim', '200 200 200 403'],
  ['GET /pools/{pool}/calls/compounding?enabled=true', '200 200 200 403'],
  [`GET /pools/{pool}/calls/open?${TERMS}`, '404 404 403 403'],
  ['GET /pools/{pool}/calls/join', '404 404 403 403'],
  ['GET /pools/{pool}/calls/contribute', '404 404 403 403'],
  ['GET /pools/{pool}/calls/payout', '404 404 403 403'],
  ['GET /pools/{pool}/calls/refund', '404 404 403 403'],
  ['GET /pools/{pool}/calls/endRound', '404 404 403 403'],
  ['GET /pools/{pool}/calls/cancel', '404 404 403 403'],
  ['DELETE /pools/{pool}/membership', '403 200 403 403'],
];

const BODIES: Record<string, object> = {
  'PATCH /pools/{pool}': { autoCompound: true },
  'POST /transactions/{pending}/sent': { hash: newHash() },
};

const request = (endpoint: string, of = ids): Request => {
  const [method, url] = endpoint.split(' ');
  return {
    method,
    url: url.replace(/\{(\w+)\}/g, (_, name: string) => of[name] ?? ids[name]),
    body: BODIES[endpoint],
  };
};

/** Those of webhooks have tests of their own: to others than its owner a webhook does not exist. */
describe('an endpoint that names a pool or a transaction', () => {
  it('is in the table, whichever it is', () => {
    const named = RULES.map(([endpoint]) => endpoint.replace(/\?.*/, '').replace(/\{\w+\}/g, 'x'));
    const documented = ENDPOINTS.filter(({ path }) => /^\/(pools|transactions)\/.*\bx\b/.test(path));
    expect(named).toEqual(expect.arrayContaining(documented.map(({ method, path }) => `${method} ${path}`)));
  });

  const STRANGE = ['nonsense', '%00', '__proto__', '1', '%F0%9F%92%B0', 'null', '0x', "';--", '%2F'];
  it.each(RULES)('answers 404 where there is none: %s', async (endpoint) => {
    const [, name] = /\{(\w+)\}/.exec(endpoint)!;
    for (const id of [uuidv7(), newHash(), `${ids[name]}0`, 'a'.repeat(8000), ...STRANGE]) {
      const { status, body } = await app.send({ ...request(endpoint, { [name]: id }), as: people.owner });
      expect([id, status, body]).toEqual([id, 404, NOT_FOUND]);
    }
  });

  it.each(RULES)('%s answers owner, member, payer and stranger with %s', async (endpoint, statuses) => {
    const found: number[] = [];
    for (const who of ['payer', 'stranger', 'owner', 'member'] as const) {
      const { status, body: answer } = await app.send({ ...request(endpoint), as: people[who] });
      found[WHO.indexOf(who)] = status;
      if (status === 403 && who === 'owner') expect(answer.code).toBe('owner_cannot_leave');
      else if (status === 403) expect(answer).toEqual(FORBIDDEN);
    }
    expect(found.join(' ')).toBe(statuses);
  });
});

describe('a contract that is one pool', () => {
  const HOLDER: [endpoint: string, status: number][] = [
    ['GET /pools/{pool}', 200],
    ['GET /pools/{pool}/yield', 200],
    ['GET /pools/{pool}/position', 200],
    ['GET /transactions?poolId={pool}', 200],
    ['GET /transactions?order=asc&poolId={pool}', 200],
    ['GET /transactions/by-id/{pending}', 200],
    ['GET /pools/{pool}/calls/deposit?amount=1', 409],
    ['PATCH /pools/{pool}', 403],
    ['DELETE /pools/{pool}', 403],
    ['DELETE /pools/{pool}/membership', 403],
  ];

  it('is open to everybody who has something in it, and to no other', async () => {
    const { id, depositId } = await app.createPool(people.stranger, { type: 'cooperative' });
    const path = (endpoint: string): Pick<Request, 'method' | 'url'> => {
      const [method, url] = endpoint
        .replaceAll('{pool}', id as string)
        .replaceAll('{pending}', depositId as string)
        .split(' ');
      return { method, url };
    };
    const ask = async (as: SignedIn): Promise<[string, number][]> => {
      const found: [string, number][] = [];
      for (const [endpoint] of HOLDER) {
        const body = endpoint.startsWith('PATCH') ? { autoCompound: true } : undefined;
        found.push([endpoint, (await app.send({ ...path(endpoint), body, as })).status]);
      }
      return found;
    };
    await addPosition(app, id as string, people.payer.address, { balance: 7, deposited: 7 });
    // Of other contracts, who has something in a pool of others reads what is his own.
    expect(new Map(await ask(people.payer)).get('GET /pools/{pool}')).toBe(403);
    await app.sql(
      `INSERT INTO chain_contracts (type, address, position, from_block, pools_by, pool_id)
       VALUES ('cooperative', '${CONTRACTS.cooperative}', 0, 0, 'contract', '${id}')`,
    );
    expect(await ask(people.payer)).toEqual(HOLDER);
    const { body } = await app.get(`/transactions?poolId=${id}`, people.payer);
    expect([body.pagination.total, body.data[0].id]).toEqual([1, depositId]);
    expect((await ask(people.member)).map(([, status]) => status)).toEqual(HOLDER.map(() => 403));
    await app.sql('DELETE FROM chain_contracts');
  });
});

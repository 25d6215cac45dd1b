import { v7 as uuidv7 } from 'uuid';
import { type SignedIn, TEN, useApp } from '../support/app';
import { differences } from '../support/recount';

const app = useApp();
let owner: SignedIn;
let member: SignedIn;

// After every test the derived rows match a recount.
afterEach(async () => expect(await differences(app)).toEqual([]));

beforeAll(async () => {
  owner = await app.signIn();
  member = await app.signIn();
});

const leave = (id: string, as?: SignedIn) =>
  app.send({ method: 'DELETE', url: `/pools/${id}/membership`, as });
const create = async (members: string[]): Promise<string> =>
  (await app.createPool(owner, { type: 'cooperative', members })).id as string;
const members = async (id: string): Promise<unknown> =>
  (await app.get('/pools?limit=100', owner)).body.data.find((pool: { id: string }) => pool.id === id).members;
const totals = async (as: SignedIn): Promise<unknown[]> => [
  (await app.get('/pools', as)).body.pagination.total,
  (await app.get('/pools?type=cooperative', as)).body.pagination.total,
  (await app.get('/transactions', as)).body.pagination.total,
  (await app.get('/transactions?type=DEPOSIT', as)).body.pagination.total,
];

it('removes the pool for the member, and nothing for others', async () => {
  const other = await app.signIn();
  const id = await create([member.address, other.address]);
  const before = [await totals(member), await totals(other), await totals(owner)];
  const { status, body } = await leave(id.toUpperCase(), member);
  expect([status, body]).toEqual([200, { success: true, data: { poolId: id } }]);

  expect(await totals(member)).toEqual((before[0] as number[]).map((count) => count - 1));
  expect((await app.get('/pools', member)).body.data.map((pool: { id: string }) => pool.id)).not.toContain(
    id,
  );
  for (const path of [`/pools/${id}`, `/pools/${id}/yield`, `/transactions?poolId=${id}`])
    expect((await app.get(path, member)).status).toBe(403);

  expect([await totals(other), await totals(owner)]).toEqual(before.slice(1));
  expect(await members(id)).toBe(1);
  for (const as of [owner, other]) expect((await app.get(`/pools/${id}`, as)).body.data.balance).toBe(TEN);
});

it('of forty members who leave at once, each twice, while money comes in, counts each once', async () => {
  const leaving: SignedIn[] = [];
  for (let i = 0; i < 40; i++) leaving.push(await app.signIn());
  const id = await create(leaving.map(({ address }) => address));
  const deposits = Array.from({ length: 40 }, (_, i) =>
    app.sql(
      `INSERT INTO transactions (id, pool_id, type, status, account, amount, created_at, owner_id, by_owner)
       VALUES ($1, $2, 'DEPOSIT', 'PENDING', $3, 5, now(), $4, false)`,
      [uuidv7(), id, leaving[i % 7].address, owner.user.id],
    ),
  );
  // All wait for the row of the pool.
  const answers = await Promise.all(leaving.flatMap((each) => [leave(id, each), leave(id, each)]));
  await Promise.all(deposits);
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(40);
  expect(statuses.filter((status) => status === 403)).toHaveLength(40);
  expect(await members(id)).toBe(0);
  expect(await app.sql('SELECT address FROM pool_members WHERE pool_id = $1', [id])).toEqual([
    { address: owner.address },
  ]);
  expect((await app.get(`/pools/${id}`, owner)).body.data.balance).toBe((BigInt(TEN) + 200n).toString());
});

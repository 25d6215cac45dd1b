import { POOL_TYPES } from '#values/types';
import { CONTRACTS, type SignedIn, TEN, useApp } from '../support/app';

const [OLD, BESIDE, OF_OTHERS] = ['a', 'B', 'c'].map((digit) => `0x${digit.repeat(40)}`);
const NAMED = POOL_TYPES.filter((type) => type !== 'rotating').map((type) => `${type}=${CONTRACTS[type]}`);
const app = useApp({
  POOL_CONTRACTS: [
    `individual=${OLD}`,
    ...NAMED,
    `individual+=${BESIDE}`,
    `cooperative:accounts+=${OF_OTHERS}`,
  ].join(),
  MIN_DEPOSITS: `${BESIDE}=7`,
});
let user: SignedIn;

beforeEach(async () => {
  user = await app.signIn();
});

const create = (fields: object, key?: string) =>
  app.post(
    '/pools',
    { type: 'individual', initialDeposit: TEN, ...fields },
    user,
    key === undefined ? {} : { 'idempotency-key': key },
  );

describe('a new pool', () => {
  it('is in the newest contract of its type, or in one that is open beside it if it asks', async () => {
    for (const [contract, found] of [
      [undefined, CONTRACTS.individual],
      [CONTRACTS.individual, CONTRACTS.individual],
      [BESIDE, BESIDE.toLowerCase()],
    ])
      expect((await create({ contract })).body.data.contractAddress).toBe(found);
    const { body } = await create({
      type: 'cooperative',
      contract: OF_OTHERS.toUpperCase().replace('X', 'x'),
    });
    expect(body.data.contractAddress).toBe(OF_OTHERS);
  });

  it.each([
    ['an older one, whose pools stay', OLD],
    ['one of another type', OF_OTHERS],
    ['one that nobody knows', `0x${'e'.repeat(40)}`],
  ])('cannot be in %s', async (_, contract) => {
    const { status, body } = await create({ contract });
    expect([status, body.details]).toEqual([
      400,
      [{ field: 'contract', message: 'must be one of new individual pools' }],
    ]);
    expect((await app.get('/pools', user)).body.pagination.total).toBe(0);
  });

  it('cannot be of a type without a contract, as the configuration says', async () => {
    expect((await app.get('/config', user)).body.data.contracts.rotating).toBe(null);
    const { status, body } = await create({ type: 'rotating' });
    expect([status, body.details]).toEqual([
      400,
      [{ field: 'type', message: 'rotating has no contract here' }],
    ]);
  });

  it.each(['', '0x12', 5, null, [BESIDE]])('is refused for %j', async (contract) => {
    const { status, body } = await create({ contract });
    // Null is as if it were left out.
    expect([status, body.details?.[0]?.field]).toEqual(
      contract === null ? [201, undefined] : [400, 'contract'],
    );
  });

  it('has the smallest deposit of its contract', async () => {
    expect((await create({ contract: BESIDE, initialDeposit: '7' })).status).toBe(201);
    expect((await create({ contract: BESIDE, initialDeposit: '6' })).body.code).toBe('deposit_below_minimum');
    expect((await create({ initialDeposit: '7' })).body.code).toBe('deposit_below_minimum');
  });

  it('is another request in another contract, however its address is written', async () => {
    const first = await create({ contract: BESIDE }, 'one');
    expect((await create({ contract: BESIDE.toLowerCase() }, 'one')).body).toEqual(first.body);
    for (const contract of [undefined, CONTRACTS.individual])
      expect((await create({ contract }, 'one')).body.code).toBe('idempotency_key_reused');
  });
});

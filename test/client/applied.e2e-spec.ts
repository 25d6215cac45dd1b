import { type Follower, SavingsClient, type Start, memoryTokens } from '@pooled-savings/client';
import { isDeepStrictEqual } from 'node:util';
import { CONTRACTS, TEN, type SignedIn, until, useApp } from '../support/app';
import { addPosition, addTransaction, newHash } from '../support/ledger';
import { fractions } from '../support/random';
import { readable } from '../support/events/outbox';

const app = useApp();
let owner: SignedIn;
let member: SignedIn;
let pool: string;

/** What events cannot tell: when a pool changed last, and the block that positions are of. */
function comparable({ cursor: _, ...start }: Start): unknown {
  return JSON.parse(
    JSON.stringify(start, (name, value: unknown) =>
      ['lastUpdate', 'blockNumber', 'blockTime', 'tokenExpiresAt'].includes(name) ||
      (name === 'submitted' && value === null)
        ? undefined
        : value,
    ),
  );
}

const change = (set: string, { address }: SignedIn, amount: string): Promise<unknown> =>
  app.sql(`UPDATE positions SET ${set} WHERE pool_id = $1 AND address = $2`, [pool, address, amount]);

/** A movement as the indexer writes it: the position, and the ledger. */
async function move(
  type: 'DEPOSIT' | 'WITHDRAWAL' | 'YIELD_CLAIM',
  by: SignedIn,
  amount: string,
): Promise<void> {
  await change(
    {
      DEPOSIT: 'deposited = deposited + $3, balance = balance + $3',
      WITHDRAWAL: 'withdrawn = withdrawn + $3, balance = balance - $3',
      YIELD_CLAIM: 'claimed = claimed + $3, owed = owed - $3',
    }[type],
    by,
    amount,
  );
  await addTransaction(app, { poolId: pool, account: by.address, type, amount });
}

const pay = (id: string): Promise<unknown> =>
  app.sql(
    `UPDATE transactions SET status = 'CONFIRMED', tx_hash = $2, block_number = 7, log_index = 0, confirmed_at = now()
     WHERE id = $1`,
    [id, newHash()],
  );
const expire = (id: string): Promise<unknown> =>
  app.sql(`UPDATE transactions SET status = 'EXPIRED' WHERE id = $1`, [id]);
const announce = async (amount: string): Promise<string> =>
  (await addTransaction(app, { poolId: pool, account: owner.address, status: 'PENDING', amount })).id;

interface Watched {
  client: SavingsClient;
  follower: Follower;
  asked: string[];
}
const open: Follower[] = [];
afterAll(() => open.forEach((follower) => follower.stop()));

async function watch({ token }: SignedIn): Promise<Watched> {
  const asked: string[] = [];
  const counted: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init);
    // A busy machine refuses some, which are asked again.
    if (answer.ok) asked.push(new URL((input as Request).url).pathname);
    return answer;
  };
  const baseUrl = `http://127.0.0.1:${app.port}`;
  const client = new SavingsClient({ baseUrl, tokens: memoryTokens(token), fetch: counted });
  const follower = client.follow();
  open.push(follower);
  await until(() => follower.state.live);
  return { client, follower, asked };
}

/** Waits until what was followed is as new as what the service says now, and compares them. */
async function compare({ follower }: Watched, { token }: SignedIn): Promise<void> {
  await readable(app);
  const baseUrl = `http://127.0.0.1:${app.port}`;
  const fresh = await new SavingsClient({ baseUrl, tokens: memoryTokens(token) }).start();
  // The answer may contain what readers of events do not get yet.
  await until(() => isDeepStrictEqual(comparable(follower.state.data!), comparable(fresh)));
}

beforeAll(async () => {
  await app.listen();
  [owner, member] = [await app.signIn(), await app.signIn()];
  const made = await app.createPool(owner, { type: 'cooperative', members: [member.address] });
  pool = made.id;
  await pay(made.depositId);
  for (const { address } of [owner, member])
    await addPosition(app, pool, address, { balance: TEN, deposited: TEN, owed: TEN });
  await readable(app);
});

it('is read where money is of another token than the sums', async () => {
  await app.sql(`INSERT INTO chain_facts VALUES (1, 31337, $1, 'DAI', 18)`, [`0x${'a'.repeat(40)}`]);
  await app.sql(`INSERT INTO chain_tokens VALUES ($1, $2, 'EURC', 6)`, [
    CONTRACTS.cooperative,
    `0x${'b'.repeat(40)}`,
  ]);
  const watched = await watch(owner);
  const { analytics, otherContracts } = watched.follower.state.data!;
  expect([
    analytics.totalDeposited,
    analytics.otherTokens.map(({ totalDeposited }) => totalDeposited),
  ]).toEqual(['0', [TEN]]);
  expect(otherContracts).toEqual([CONTRACTS.cooperative]);
  await move('DEPOSIT', owner, '7');
  await move('YIELD_CLAIM', owner, '5');
  await compare(watched, owner);
  watched.follower.stop();
  await app.sql('DELETE FROM chain_facts; DELETE FROM chain_tokens');
});

it('is what the service would say, after any movements, without a request', async () => {
  const [mine, theirs] = [await watch(owner), await watch(member)];
  const random = fractions(23);
  const pending: string[] = [];
  const steps: (() => Promise<unknown>)[] = [
    async () => pending.push(await announce('500')),
    async () => {
      const id = pending.pop();
      if (!id) return;
      await change('deposited = deposited + $3, balance = balance + $3', owner, '500');
      await pay(id);
    },
    async () => pending.length > 0 && expire(pending.pop()!),
    ...[owner, member].flatMap((by) =>
      (['DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM'] as const).map((type) => () => move(type, by, '7')),
    ),
  ];
  let announced = 0;
  // Each step once, two that are announced first, and then some at random.
  const order = [
    0,
    0,
    1,
    ...steps.keys(),
    ...Array.from({ length: 4 }, () => Math.floor(random() * steps.length)),
  ];
  for (const each of order) {
    const before = pending.length;
    await steps[each]();
    if (pending.length > before) {
      // It has no event of its own: only POST /pools announces any, with the pool's.
      announced++;
      mine.follower.refresh();
      theirs.follower.refresh();
      for (const { follower } of [mine, theirs])
        await until(() =>
          follower.state.data!.pools.data[0].recentTransactions.some(({ id }) => id === pending.at(-1)),
        );
    }
    await compare(mine, owner);
    await compare(theirs, member);
  }
  for (const { asked } of [mine, theirs])
    expect(asked.filter((path) => path === '/users/me/start').length).toBeLessThanOrEqual(1 + announced);
});

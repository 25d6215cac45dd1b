import { CONTRACTS, type SignedIn, TEN, useApp } from '../support/app';
import { PaperChain, Written } from '../support/chain/paper-chain';

const REQUESTS = 1000;
const AT_ONCE = 8;
const OWNERS = 4;
const BATCHES = 4;
/** About as many as the indexer applies at once in a backfill. */
const EVENTS = 8000;

describe('requests beside dense batches of the indexer', () => {
  const app = useApp({ DATABASE_POOL_SIZE: '10' });
  let written: Written;
  afterAll(() => written.stop());

  it('are not refused because of locks on the same accounts and pools', async () => {
    const owners: SignedIn[] = [];
    const pools: { poolId: string; account: string }[] = [];
    for (let i = 0; i < OWNERS; i += 1) {
      const owner = await app.signIn();
      owners.push(owner);
      for (let n = 0; n < 5; n += 1) {
        const { id } = (await app.createPool(owner)) as { id: string };
        pools.push({ poolId: id.replaceAll('-', ''), account: owner.address });
      }
    }
    const contract = CONTRACTS.individual;
    const chain = new PaperChain();
    written = await new Written().start(chain, 0, app.database);

    let asking = true;
    let batches = 0;
    async function apply(): Promise<void> {
      for (; asking; batches += 1) {
        const events = Array.from({ length: EVENTS }, (_, i) => ({
          kind: i % 3 === 2 ? ('Withdrawn' as const) : ('Deposited' as const),
          contract,
          amount: `${1 + (i % 7)}`,
          ...pools[(i * 7 + batches) % pools.length],
        }));
        chain.add(events, 1);
        await written.apply(chain);
      }
    }
    const statuses = new Map<number, number>();
    let sent = 0;
    async function ask(): Promise<void> {
      while (sent < REQUESTS || batches < BATCHES) {
        const owner = owners[sent++ % OWNERS];
        const { status } = await app.post('/pools', { type: 'individual', initialDeposit: TEN }, owner);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    }
    const applying = apply();
    await Promise.all(Array.from({ length: AT_ONCE }, ask)).finally(() => (asking = false));
    await applying;

    const unavailable = statuses.get(503) ?? 0;
    expect((statuses.get(201) ?? 0) + unavailable).toBe(sent);
    expect(unavailable).toBeLessThanOrEqual(sent * 0.005);
    const [{ deadlocks }] = await app.sql<{ deadlocks: number }>(
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    );
    expect(deadlocks).toBe(0);
  });
});

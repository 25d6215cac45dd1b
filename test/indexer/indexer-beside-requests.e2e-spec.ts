import { CONTRACTS, TEN, until, useApp } from '../support/app';
import { PaperChain, Written } from '../support/chain/paper-chain';

const EVENTS = 60;

describe('requests beside a batch of the indexer', () => {
  const app = useApp();
  let written: Written;
  afterAll(() => written?.stop());

  it('do not wait for its locks on the same accounts and pools', async () => {
    const owner = await app.signIn();
    const pools: { poolId: string; account: string }[] = [];
    for (let n = 0; n < 5; n += 1) {
      const { id } = (await app.createPool(owner)) as { id: string };
      pools.push({ poolId: id.replaceAll('-', ''), account: owner.address });
    }
    const chain = new PaperChain();
    written = await new Written().start(chain, 0, app.database);
    // The batch holds all of its locks while it waits at its end.
    await app.sql(`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$`);
    await app.sql(`CREATE CONSTRAINT TRIGGER hold AFTER UPDATE ON chain_cursor DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION hold()`);
    const [{ pid }] = await written.sql<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const isHeld = async (): Promise<boolean> =>
      (await app.sql('SELECT FROM pg_locks WHERE pid = $1 AND NOT granted', [pid])).length > 0;
    const holder = await app.connect();
    await holder.query('SELECT pg_advisory_lock(7)');
    chain.add(
      Array.from({ length: EVENTS }, (_, i) => ({
        kind: i % 3 === 2 ? ('Withdrawn' as const) : ('Deposited' as const),
        contract: CONTRACTS.individual,
        amount: `${1 + (i % 7)}`,
        ...pools[i % pools.length],
      })),
      1,
    );
    const applying = written.apply(chain);
    await until(isHeld);
    for (let i = 0; i < 20; i += 1) {
      const { status } = await app.post('/pools', { type: 'individual', initialDeposit: TEN }, owner);
      expect(status).toBe(201);
    }
    expect(await isHeld()).toBe(true);
    await holder.end();
    await applying;
  });
});

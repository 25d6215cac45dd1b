import { type Abi, type Address, maxUint256 } from 'viem';
import { type DevClient, artifacts, deploy } from '#dev/deploy';
import { compile } from '../../../scripts/compile-contracts';
import { type Response, type SignedIn, TEN, until } from '../../support/app';
import { useService } from '../../support/chain/chain-bench';
import { addPool, call, cancelOnceKnown } from '../../support/chain/foreign-pools';
import { connectTo } from '../../support/database';

const compiled = compile(['test/support/solidity/Coin.sol', 'test/support/solidity/Vaults.sol']);

/** Several pools in a place of one, as from before anybody followed the contract; and pools that are cancelled meanwhile. */
describe('pools of contracts that name them', () => {
  let [clubs, savings, vault, kitty]: Address[] = [];
  const { bench, app, signIn } = useService(
    async ({ owner, saver, other, deployment: { token }, further }) => {
      const made: Address[] = [];
      for (const artifact of [artifacts.Clubs, artifacts.AccountSavings, artifacts.Kitty])
        made.push((await deploy(owner, artifact, [token])).address.toLowerCase() as Address);
      [clubs, savings, kitty] = made;
      vault = (await deploy(owner, compiled.PlainVault, [token, 0])).address.toLowerCase() as Address;
      further.push(['cooperative:clubs+', clubs], ['individual:accounts+', savings]);
      further.push(['cooperative:erc4626-pool+', vault], ['cooperative:kitty+', kitty]);
      const coin = { ...compiled.Coin, address: token };
      for (const client of [saver, other]) {
        await call(client, coin, 'mint', client.account.address, 10n ** 21n);
        for (const spender of [...made, vault]) await call(client, coin, 'approve', spender, maxUint256);
      }
    },
  );
  let [saver, other]: SignedIn[] = [];
  const follow = async (settings: NodeJS.ProcessEnv = {}): Promise<void> => {
    await bench.follow(settings);
    await bench.mine(1);
    await bench.atHead();
  };
  const create = (as: SignedIn, contract: Address): Promise<Response> =>
    app.post('/pools', { type: 'cooperative', initialDeposit: TEN, contract }, as);
  const cancel = (pool: string): Promise<Response> => cancelOnceKnown(app, pool, saver);
  const at = (client: DevClient, { abi }: { abi: Abi }, address: Address, name: string, ...args: unknown[]) =>
    call(client, { abi, address }, name, ...args);
  const paid = (...pools: string[]): Promise<unknown[]> =>
    bench.sql(
      `SELECT pool_id AS pool, amount FROM transactions WHERE pool_id = ANY($1) AND status = 'CONFIRMED' ORDER BY id`,
      [pools],
    );
  const outcomes = async (contract: Address): Promise<string[]> =>
    (
      await bench.sql<{ outcome: string }>(
        'SELECT outcome FROM chain_events WHERE contract = $1 ORDER BY block_number, log_index',
        [contract],
      )
    ).map(({ outcome }) => outcome);

  beforeAll(async () => {
    [saver, other] = [await signIn(1), await signIn(2)];
  });
  afterEach(() => bench.leave());

  it('one that is made while the contract is first followed is the one that the contract is', async () => {
    const holder = await connectTo(bench.database.url);
    const waiting = async (): Promise<number> =>
      (
        await holder.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
      ).rowCount!;
    try {
      await holder.query('BEGIN');
      // Of all shards: the pool that is made waits.
      await holder.query(
        `SELECT pg_advisory_xact_lock(hashtextextended('pool totals', s::smallint)) FROM generate_series(1, 31) s`,
      );
      const creating = create(saver, kitty);
      await until(async () => (await waiting()) === 1);
      await bench.follow();
      // The indexer waits for the pool, or has not.
      await until(
        async () => (await waiting()) === 2 || (await bench.sql('SELECT FROM chain_contracts')).length > 0,
      );
      await holder.query('COMMIT');
      const { status, body } = await creating;
      expect(status).toBe(201);
      await bench.atHead();
      await at(bench.saver, artifacts.Kitty, kitty, 'putIn', BigInt(TEN));
      await bench.atHead();
      expect((await create(other, kitty)).body.code).toBe('pool_exists');
      expect(await paid(body.data.id as string)).toEqual([{ pool: body.data.id, amount: TEN }]);
    } finally {
      await holder.end();
    }
  });

  it('a contract is no pool of another type, as it was followed for before', async () => {
    await bench.sql('DELETE FROM chain_contracts WHERE address = $1', [vault]);
    const mine = await addPool(bench, bench.saver, { type: 'individual', contract: vault });
    await follow();
    const { status, body } = await create(other, vault);
    expect(status).toBe(201);
    await at(bench.other, compiled.PlainVault, vault, 'deposit', 5000n, other.address);
    await bench.atHead();
    expect(await paid(mine, body.data.id as string)).toEqual([{ pool: body.data.id, amount: '5000' }]);
    const calls = await app.get(`/pools/${mine}/calls/deposit?amount=5`, saver);
    expect([calls.status, calls.body.code]).toEqual([409, 'calls_unknown']);
  });

  it('the second of an account is not told to pay, as that would be into the first', async () => {
    const [first, second] = [
      await addPool(bench, bench.saver, { type: 'individual', contract: savings }),
      await addPool(bench, bench.saver, { type: 'individual', contract: savings }),
    ];
    const codes = async (): Promise<unknown[]> =>
      Promise.all(
        [first, second].map(async (pool) => {
          const { status, body } = await app.get(`/pools/${pool}/calls/deposit?amount=5`, saver);
          return (body.code as string | undefined) ?? status;
        }),
      );
    await follow();
    expect(await codes()).toEqual([200, 'calls_unknown']);
    await at(bench.saver, artifacts.AccountSavings, savings, 'save', 7n);
    await bench.atHead();
    expect(await codes()).toEqual([200, 'calls_unknown']);
    expect(await paid(first, second)).toEqual([{ pool: first, amount: '7' }]);
  });

  it('none is cancelled while a payment that may be its own waits for confirmations', async () => {
    await follow({ CONFIRMATIONS: '3' });
    const [numbered, another] = [
      (await create(saver, clubs)).body.data.id as string,
      (await create(saver, clubs)).body.data.id as string,
    ];
    await at(bench.saver, artifacts.Clubs, clubs, 'createPool', 'x');
    await at(bench.saver, artifacts.Clubs, clubs, 'pay', 1n, BigInt(TEN));
    await at(bench.saver, artifacts.AccountSavings, savings, 'save', 8n);
    await bench.atHead();
    expect(await outcomes(clubs)).toEqual(['WAITING', 'WAITING']);
    // The second of the account, of which payments are the first's.
    const [, second] = await bench.sql<{ id: string }>(
      'SELECT id FROM pools WHERE contract_address = $1 ORDER BY id',
      [savings],
    );
    for (const each of [numbered, another]) expect((await cancel(each)).body.code).toBe('pool_not_empty');
    expect((await cancel(second.id)).status).toBe(200);
    await bench.mine(4);
    await bench.atHead();
    expect(await outcomes(clubs)).toEqual(['APPLIED', 'APPLIED']);
    expect(await paid(numbered)).toEqual([{ pool: numbered, amount: TEN }]);
    expect((await cancel(another)).status).toBe(200);
  });
});

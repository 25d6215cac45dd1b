import { type Address, maxUint256 } from 'viem';
import { type DevClient, artifacts, deploy, receiptOf } from '#dev/deploy';
import { compile } from '../../../scripts/compile-contracts';
import { type SignedIn, TEN, until } from '../../support/app';
import { PRICED_SHARES } from '#ledger/chain/chain.sql';
import { useService } from '../../support/chain/chain-bench';
import { RpcNode } from '../../support/chain/rpc-node';
import { addPool, call, cancelOnceKnown } from '../../support/chain/foreign-pools';
import { Operators } from '../../support/verify/operators';

const TEN_TOKENS = BigInt(TEN);
const compiled = compile(['test/support/solidity/Coin.sol', 'test/support/solidity/Vaults.sol']);

/** Contracts of which each is one pool: who deploys one has a pool, and its events name none. */
describe('a contract that is one pool', () => {
  let [early, older, usual, further, late, vault]: Address[] = [];
  const { bench, app, signIn } = useService(
    async ({ owner, saver, other, deployment: { token }, further: named }) => {
      const kitties: Address[] = [];
      for (let i = 0; i < 5; i += 1)
        kitties.push((await deploy(owner, artifacts.Kitty, [token])).address.toLowerCase() as Address);
      [early, older, usual, further, late] = kitties;
      vault = (await deploy(owner, compiled.PlainVault, [token, 0])).address.toLowerCase() as Address;
      for (const [i, kitty] of kitties.entries()) named.push([`cooperative:kitty${i < 3 ? '' : '+'}`, kitty]);
      named.push(['cooperative:erc4626-pool+', vault]);
      const coin = { ...compiled.Coin, address: token };
      for (const client of [owner, saver, other])
        for (const spender of [...kitties, vault]) {
          await call(client, coin, 'mint', client.account.address, 10n ** 21n);
          await call(client, coin, 'approve', spender, maxUint256);
        }
    },
  );
  const operators = new Operators(bench);
  let [saver, other]: SignedIn[] = [];

  const follow = async (settings?: NodeJS.ProcessEnv): Promise<void> => {
    await bench.follow(settings);
    // Once it leads.
    await bench.mine(1);
    await bench.atHead();
  };
  const toKitty = (client: DevClient, address: Address, name: string, ...args: unknown[]) =>
    call(client, { ...artifacts.Kitty, address }, name, ...args);
  const create = (as: SignedIn, contract: Address, fields: object = {}) =>
    app.post('/pools', { type: 'cooperative', initialDeposit: TEN, contract, ...fields }, as);
  const cancel = (pool: string) => app.send({ method: 'DELETE', url: `/pools/${pool}`, as: saver });
  /** What each has in the pool: balance, paid in, taken out, claimed. */
  const held = async (pool: string): Promise<Record<string, string>> => {
    const rows = await bench.sql<{ address: string; held: string }>(
      `SELECT address, concat_ws(' ', balance, deposited, withdrawn, claimed) AS held FROM positions WHERE pool_id = $1`,
      [pool],
    );
    return Object.fromEntries(
      rows.map(({ address, held: each }) => [address === saver.address ? 'saver' : 'other', each]),
    );
  };
  async function send(client: DevClient, as: SignedIn, path: string): Promise<void> {
    const { status, body } = await app.get(`/pools/${path}`, as);
    expect([status, body.error]).toEqual([200, undefined]);
    for (const { to, data } of body.data.calls)
      expect((await receiptOf(client, await client.sendTransaction({ to, data }))).status).toBe('success');
    await bench.atHead();
  }
  const unknown = `SELECT count(*)::int FROM chain_events WHERE outcome = 'UNKNOWN_POOL'`;

  beforeAll(async () => {
    [saver, other] = [await signIn(1), await signIn(2)];
  });

  it('has the first of the pools that were made before anybody followed it', async () => {
    for (const owner of [bench.saver, bench.other])
      await addPool(bench, owner, { type: 'cooperative', contract: older });
    const first = await addPool(bench, bench.saver, { type: 'cooperative', contract: early });
    const second = await addPool(bench, bench.other, { type: 'cooperative', contract: early });
    await toKitty(bench.other, early, 'putIn', 3n);
    await follow();
    expect([await held(first), await held(second)]).toEqual([{ other: '3 3 0 0' }, {}]);
    // What is paid is the first's, so nobody is told to pay for the second.
    const { body } = await app.get(`/pools/${second}/calls/deposit?amount=5`, other);
    expect(body.code).toBe('calls_unknown');
    await bench.leave();
    // Nothing is looked for again.
    const before = await bench.state();
    await follow();
    expect(await bench.state()).toEqual(before);
  });

  it('is the pool of who makes it first, whatever was paid before', async () => {
    await toKitty(bench.other, usual, 'putIn', 5n);
    await bench.atHead();
    expect(await bench.sql(unknown)).toEqual([{ count: 1 }]);
    const answers = await Promise.all([
      create(saver, usual, { members: [other.address] }),
      create(saver, usual, { members: [other.address] }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(answers.find(({ status }) => status === 409)!.body.code).toBe('pool_exists');
    expect((await create(other, usual)).body.code).toBe('pool_exists');
    const { id, depositId, contractAddress } = answers.find(({ status }) => status === 201)!.body.data;
    expect(contractAddress).toBe(usual);
    await bench.mine(1);
    await until(async () => (await bench.sql(unknown))[0].count === 0);
    expect(await held(id as string)).toEqual({ other: '5 5 0 0' });
    await send(bench.saver, saver, `${id}/calls/deposit?transaction=${depositId}`);
    await send(bench.other, other, `${id}/calls/deposit?amount=${TEN}`);
    await send(bench.other, other, `${id}/calls/withdraw?amount=4`);
    await toKitty(bench.owner, usual, 'reward', other.address, 100n);
    await send(bench.other, other, `${id}/calls/claim`);
    const paid = BigInt(TEN);
    expect(await held(id as string)).toEqual({
      saver: `${TEN} ${TEN} 0 0`,
      other: `${paid + 1n} ${paid + 5n} 4 90`,
    });
    expect(await bench.sql(`SELECT FROM transactions WHERE status = 'PENDING'`)).toEqual([]);
    const { listed, notChecked, checked } = await operators.verify();
    expect([...listed, ...notChecked]).toEqual([]);
    expect(checked['chain.balance']).toBeGreaterThan(2);
  });

  it('has the next of those that are older once the first was cancelled', async () => {
    const [first, second] = await bench.sql<{ id: string }>(
      'SELECT id FROM pools WHERE contract_address = $1 ORDER BY id',
      [older],
    );
    expect((await cancelOnceKnown(app, first.id, saver)).status).toBe(200);
    await toKitty(bench.saver, older, 'putIn', 2n);
    await bench.atHead();
    expect(await held(second.id)).toEqual({ saver: '2 2 0 0' });
  });

  it('keeps its pool while what was paid is not known', async () => {
    const { id } = (await create(saver, further)).body.data;
    await bench.leave();
    const states = [
      [`UPDATE chain_cursor SET state = 'syncing'`, `UPDATE chain_cursor SET state = 'synced'`],
      ...['beat_at', 'progress_at'].map((column) => [
        `UPDATE chain_cursor SET ${column} = now() - interval '1 minute'`,
        `UPDATE chain_cursor SET ${column} = 'infinity'`,
      ]),
      [
        `INSERT INTO chain_contracts_apart VALUES ('${further}', 0, '', now(), 'catching_up', 'rewound')`,
        'DELETE FROM chain_contracts_apart',
      ],
    ];
    await bench.sql(
      `UPDATE chain_cursor SET state = 'synced', beat_at = 'infinity', progress_at = 'infinity'`,
    );
    for (const [before, after] of states) {
      await bench.sql(before);
      const { status, body } = await cancel(id as string);
      expect([status, body.code]).toEqual([503, 'chain_unknown']);
      await bench.sql(after);
    }
    await bench.sql('UPDATE chain_cursor SET beat_at = now(), progress_at = now()');
    await follow();
    expect((await cancelOnceKnown(app, id as string, saver)).status).toBe(200);
  });

  it('keeps its pool while a payment waits for confirmations, and only then', async () => {
    const { id } = (await create(saver, late)).body.data;
    await bench.leave();
    await follow({ CONFIRMATIONS: '3' });
    expect((await cancelOnceKnown(app, id as string, saver)).status).toBe(200);
    const second = (await create(saver, late)).body.data.id as string;
    await toKitty(bench.other, late, 'putIn', 6n);
    const waits = `SELECT FROM chain_events WHERE outcome = 'WAITING' AND contract = $1`;
    await until(async () => (await bench.sql(waits, [late])).length === 1);
    expect((await cancelOnceKnown(app, second, saver)).body.code).toBe('pool_not_empty');
    await bench.mine(3);
    await until(async () => (await held(second)).other === '6 6 0 0');
    await bench.leave();
    await follow();
  });

  it('may be a vault, of which each has a part that earns', async () => {
    const { id, depositId } = (await create(saver, vault, { members: [other.address] })).body.data;
    expect((await create(other, vault)).body.code).toBe('pool_exists');
    await send(bench.saver, saver, `${id}/calls/deposit?transaction=${depositId}`);
    await send(bench.other, other, `${id}/calls/deposit?amount=${3n * TEN_TOKENS}`);
    await call(bench.owner, { ...compiled.Coin, address: bench.deployment.token }, 'mint', vault, 4001n);
    // Anyone may give shares, also to who has made the pool.
    await call(
      bench.other,
      { ...compiled.PlainVault, address: vault },
      'transfer',
      saver.address,
      TEN_TOKENS,
    );
    await bench.atHead();
    const position = async (as: SignedIn): Promise<Record<string, string>> =>
      (await app.get(`/pools/${id}/position`, as)).body.data;
    const claimable = async (): Promise<unknown> =>
      (await app.get(`/pools/${id}/yield`, saver)).body.data.claimableYield;
    await until(async () => (await claimable()) === '4000');
    expect(await position(saver)).toMatchObject({ balance: `${2n * TEN_TOKENS}`, claimable: '2000' });
    expect(await position(other)).toMatchObject({
      balance: `${2n * TEN_TOKENS}`,
      deposited: `${3n * TEN_TOKENS}`,
      withdrawn: TEN,
      claimable: '2000',
    });
    const listed = (await app.get('/users/me/positions', other)).body.data as Record<string, string>[];
    expect(listed.find(({ poolId }) => poolId === id)).toMatchObject({ claimable: '2000', earned: '2000' });
    const worth = 2n * TEN_TOKENS + 2000n;
    const tooMuch = await app.get(`/pools/${id}/calls/withdraw?amount=${worth + 1n}`, other);
    expect(tooMuch.body.code).toBe('insufficient_balance');
    await send(bench.other, other, `${id}/calls/withdraw?amount=${worth}`);
    expect(await held(id as string)).toEqual({
      saver: `${2n * TEN_TOKENS} ${2n * TEN_TOKENS} 0 0`,
      other: `0 ${3n * TEN_TOKENS} ${3n * TEN_TOKENS} 2000`,
    });
    expect(await operators.verified()).toEqual([]);
  });

  it('has no price that its endpoints disagree on', async () => {
    await bench.leave();
    const liar = await RpcNode.start(bench.anvil.url);
    const hexOf = (price: bigint): string => price.toString(16).padStart(64, '0');
    const args = [PRICED_SHARES];
    const price = (await bench.owner.readContract({
      ...artifacts.TestVault,
      ...{ address: vault, functionName: 'convertToAssets', args },
    })) as bigint;
    let lies = 0;
    liar.faults.result = (method, result) => {
      const told = String(result);
      if (method !== 'eth_call' || !told.includes(hexOf(price))) return result;
      lies += 1;
      return told.replace(hexOf(price), hexOf(price + 1n));
    };
    await follow({ RPC_URL: `${bench.settings().RPC_URL},${liar.url}`, RPC_AGREE: '2' });
    const { number } = (await bench.cursor())!;
    const priced = async (): Promise<number> => {
      const sql = 'SELECT max(block_number) AS block FROM share_prices WHERE vault = $1';
      return Number((await bench.sql<{ block: string }>(sql, [vault]))[0].block);
    };
    await until(() => lies > 1);
    expect(await priced()).toBeLessThan(number);
    liar.faults = {};
    await until(async () => (await priced()) === number);
    await bench.leave();
    await liar.stop();
    await follow();
  });

  it.each([
    ['pool of another contract', `pool_id = (SELECT pool_id FROM chain_contracts WHERE address = '%')`],
    ['name that is not of a contract that is one', `pools_by = 'account'`],
  ])('is seen to be wrong with a %s', async (_, change) => {
    const before = await bench.sql('SELECT * FROM chain_contracts ORDER BY type, address');
    await bench.sql(`UPDATE chain_contracts SET ${change.replace('%', early)} WHERE address = $1`, [usual]);
    const kinds = ((await operators.verified()) as { kind: string }[]).map(({ kind }) => kind);
    expect(kinds).toContain('chain_contracts.pool_id');
    // A start of the indexer makes it right.
    await bench.leave();
    await follow();
    expect(await bench.sql('SELECT * FROM chain_contracts ORDER BY type, address')).toEqual(before);
    expect(await operators.verified()).toEqual([]);
  });

  it.each(['shares', 'cost'])('has the %s of a vault rebuilt where their sum is wrong', async (column) => {
    const before = await bench.state();
    await bench.sql(`UPDATE share_totals SET ${column} = ${column} + 1`);
    expect(await operators.verified(true)).toEqual([
      expect.objectContaining({ kind: `share_totals.${column}`, id: vault, repaired: true }),
    ]);
    expect(await bench.state()).toEqual(before);
  });

  it('leaves nothing in the sums of a vault of which all was sold, and a replay finds nothing wrong', async () => {
    for (const client of [bench.saver, bench.other]) {
      const { address } = client.account;
      const whole = { ...artifacts.TestVault, address: vault };
      const shares = await bench.owner.readContract({ ...whole, functionName: 'balanceOf', args: [address] });
      await call(client, whole, 'redeem', shares, address, address);
    }
    await bench.atHead();
    expect(await bench.sql('SELECT * FROM share_totals')).toEqual([]);
    expect(await operators.replay()).toEqual({ corrected: [], refused: [] });
  });

  it('is told once where a vault has shares of its own', async () => {
    const whole = { ...artifacts.TestVault, address: vault };
    const coin = { ...compiled.Coin, address: bench.deployment.token };
    await call(bench.saver, coin, 'approve', vault, 10n ** 6n);
    await call(bench.saver, whole, 'mint', 1000n, saver.address);
    await call(bench.saver, whole, 'transfer', vault, 5n);
    await bench.atHead();
    const listed = (await app.get('/pools?type=cooperative&limit=100', saver)).body;
    const ids = (listed.data as { id: string }[]).map(({ id }) => id);
    expect([ids.length, new Set(ids).size]).toEqual([listed.pagination.total, ids.length]);
    expect(await operators.verified()).toEqual([]);
  });
});

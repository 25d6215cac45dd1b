import { type Address, maxUint256 } from 'viem';
import { type DevClient, artifacts, deploy } from '#dev/deploy';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { TYPE_WITH_DRAWS, byPoolType } from '#values/types';
import { compile } from '../../../scripts/compile-contracts';
import { until } from '../../support/app';
import { useChain } from '../../support/chain/chain-bench';
import { addPool, addressOf, call } from '../../support/chain/foreign-pools';
import { Operators } from '../../support/verify/operators';

const compiled = compile(['test/support/solidity/Coin.sol']);

/** Contracts that are not ours: one knows pools by their accounts, one by numbers, and neither numbers its events. */
describe.each([6, 18])('contracts of others, with a token of %i decimals', (decimals) => {
  const bench = useChain();
  const operators = new Operators(bench);
  const unit = 10n ** BigInt(decimals);
  let [coin, savings, clubs]: Address[] = [];

  const toSavings = (client: DevClient, name: string, ...args: unknown[]) =>
    call(client, { ...artifacts.AccountSavings, address: savings }, name, ...args);
  const toClubs = (client: DevClient, name: string, ...args: unknown[]) =>
    call(client, { ...artifacts.Clubs, address: clubs }, name, ...args);

  const poolAt = (owner: DevClient, contract: Address, deposit?: bigint): Promise<string> =>
    addPool(bench, owner, { type: contract === savings ? 'individual' : 'cooperative', contract, deposit });

  /** Of each account what it holds in units, and has been paid, by pool. */
  const positions = async (): Promise<Record<string, string[]>> => {
    const rows = await bench.sql<{ id: string; held: string[] }>(
      `SELECT pool_id AS id, array_agg(concat_ws(' ', CASE address WHEN $1 THEN 'saver' ELSE 'other' END,
         balance, deposited, withdrawn, claimed) ORDER BY address = $1 DESC) AS held FROM positions GROUP BY 1`,
      [addressOf(bench.saver)],
    );
    return Object.fromEntries(rows.map(({ id, held }) => [id, held]));
  };
  beforeAll(async () => {
    const [owner] = [bench.owner];
    coin = (await deploy(owner, compiled.Coin, ['COIN', decimals])).address;
    savings = (await deploy(owner, artifacts.AccountSavings, [coin])).address.toLowerCase() as Address;
    clubs = (await deploy(owner, artifacts.Clubs, [coin])).address.toLowerCase() as Address;
    // Those beside them have the same token.
    const args = [coin, owner.account.address, 1n];
    const { address: pool } = await deploy(owner, artifacts.SavingsPool, args);
    const { address: lottery } = await deploy(owner, artifacts.LotteryPool, args);
    bench.deployment.contracts = byPoolType((type) => (type === TYPE_WITH_DRAWS ? lottery : pool));
    bench.further.push(['individual:accounts', savings], ['cooperative:clubs', clubs]);
    for (const client of [bench.owner, bench.saver, bench.other])
      for (const spender of [savings, clubs]) {
        await call(client, { ...compiled.Coin, address: coin }, 'mint', client.account.address, 1000n * unit);
        await call(client, { ...compiled.Coin, address: coin }, 'approve', spender, maxUint256);
      }
    await bench.sql('INSERT INTO users VALUES (gen_random_uuid(), $1, now())', [addressOf(bench.other)]);
  });
  afterEach(() => bench.leave());

  it('are followed to the unit: deposits, withdrawals, members, claims with a fee', async () => {
    const { saver, other, owner } = bench;
    const own = await poolAt(saver, savings, 5n * unit);
    const club = await poolAt(saver, clubs, 7n * unit);
    const indexer = await bench.follow();
    await toSavings(saver, 'save', 5n * unit);
    await toSavings(saver, 'unsave', 2n * unit + 1n);
    await toSavings(owner, 'reward', saver.account.address, 1000n);
    await toSavings(saver, 'takeReward');
    await toClubs(saver, 'createPool', 'first');
    await toClubs(saver, 'pay', 1n, 7n * unit);
    await toClubs(other, 'pay', 1n, 3n * unit);
    await toClubs(other, 'takeAll', 1n);
    await toClubs(owner, 'reward', 1n, other.account.address, 55n);
    await toClubs(other, 'takeYield', 1n);
    await bench.atHead();
    const left = 3n * unit - 1n;
    expect(await positions()).toEqual({
      [own]: [`saver ${left} ${5n * unit} ${2n * unit + 1n} 900`],
      [club]: [`saver ${7n * unit} ${7n * unit} 0 0`, `other 0 ${3n * unit} ${3n * unit} 50`],
    });
    expect(
      await bench.sql(
        `SELECT kind, fee FROM chain_events WHERE fee IS NOT NULL OR outcome <> 'APPLIED' ORDER BY block_number`,
      ),
    ).toEqual([
      { kind: 'YieldClaimed', fee: '100' },
      { kind: 'YieldClaimed', fee: '5' },
    ]);
    const anomalies = (await indexer.get(IndexerTelemetry).anomalies.get()).values;
    expect(anomalies.filter(({ value }) => value > 0)).toEqual([]);
    // What was announced is what was paid.
    expect(await bench.sql(`SELECT FROM transactions WHERE status = 'PENDING'`)).toEqual([]);
    const { listed, notChecked, checked } = await operators.verify();
    expect([...listed, ...notChecked]).toEqual([]);
    expect(checked['chain.balance']).toBeGreaterThan(0);
  });

  it('find pools that are made in the service after their events, the first first', async () => {
    const { other } = bench;
    await bench.follow();
    await toClubs(other, 'createPool', 'second');
    await toClubs(other, 'createPool', 'third');
    await toClubs(other, 'pay', 2n, 2n * unit);
    await toClubs(other, 'pay', 3n, 3n * unit);
    await toSavings(other, 'save', 4n * unit);
    await bench.atHead();
    const unknown = `SELECT count(*)::int FROM chain_events WHERE outcome = 'UNKNOWN_POOL'`;
    expect(await bench.sql(unknown)).toEqual([{ count: 5 }]);
    const second = await poolAt(other, clubs);
    const held = async (id: string): Promise<string[] | undefined> => (await positions())[id];
    await until(async () => (await held(second)) !== undefined);
    const third = await poolAt(other, clubs);
    const own = await poolAt(other, savings);
    await bench.mine(1);
    await until(async () => (await bench.sql(unknown))[0].count === 0);
    expect([await held(second), await held(third), await held(own)]).toEqual(
      [2n, 3n, 4n].map((paid) => [`other ${paid * unit} ${paid * unit} 0 0`]),
    );
    expect(await operators.verified()).toEqual([]);
  });

  it.each([
    ['stand_in', 'stand_in = gen_random_uuid()', 'pool_names.stand_in'],
    ['contract', `contract = '0x${'ee'.repeat(20)}'`, 'pool_names.stand_in'],
    [
      'pool_id',
      `pool_id = (SELECT id FROM pools WHERE id <> n.pool_id AND type = 'lottery')`,
      'pool_names.pool_id',
    ],
    ['block_number', 'block_number = block_number + 1', 'pool_names.block_number'],
    ['log_index', 'log_index = log_index + 1', 'pool_names.block_number'],
  ])('name a wrong %s of a name', async (_, change, kind) => {
    await bench.sql(`INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update)
      SELECT gen_random_uuid(), 'lottery', id, '0x${'dd'.repeat(20)}', now(), now() FROM users LIMIT 1`);
    const before = await bench.state();
    const names = await bench.sql(`SELECT * FROM pool_names WHERE name = '1'`);
    await bench.sql(`SET session_replication_role = replica`);
    await bench.sql(`UPDATE pool_names n SET ${change} WHERE name = '1'`);
    await bench.sql(`SET session_replication_role = origin`);
    expect(await operators.verified()).toContainEqual(expect.objectContaining({ kind }));
    expect((await operators.replay()).refused).toContainEqual(expect.stringMatching(/^pool_names\./));
    await bench.sql(`DELETE FROM pool_names WHERE name = '1'`);
    await bench.sql(
      'INSERT INTO pool_names SELECT * FROM json_populate_recordset(NULL::pool_names, $1::json)',
      [JSON.stringify(names)],
    );
    expect(await bench.state()).toEqual(before);
    await bench.sql(`DELETE FROM pools WHERE type = 'lottery'`);
    expect(await operators.verified()).toEqual([]);
  });

  it('name an event that has another pool than its name; reading the contract again gives names and pools', async () => {
    const before = await bench.state();
    await bench.sql(
      `UPDATE chain_events SET pool_id = gen_random_uuid() WHERE kind = 'Deposited' AND pool_name = '1'`,
    );
    expect(await operators.verified()).toContainEqual(
      expect.objectContaining({ kind: 'chain_events.pool_id' }),
    );
    await bench.sql(`UPDATE pool_names SET block_number = block_number + 1 WHERE name = '1'`);
    await operators.rewind(undefined, clubs);
    await bench.follow();
    await until(async () => (await bench.sql('SELECT FROM chain_contracts_apart')).length === 0);
    await operators.verified(true);
    expect(await bench.state()).toEqual(before);
    expect((await operators.verify()).listed).toEqual([]);
  });
});

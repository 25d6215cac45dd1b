import { type Address, maxUint256, zeroAddress } from 'viem';
import { type DevClient, artifacts, deploy } from '#dev/deploy';
import { POOL_DETAIL, POOL_YIELD } from '#features/pools/pools.sql';
import { POOL_POSITION } from '#extensions/positions/positions.sql';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { TYPE_WITH_DRAWS, byPoolType } from '#values/types';
import { compile } from '../../../scripts/compile-contracts';
import { until } from '../../support/app';
import { useChain } from '../../support/chain/chain-bench';
import { addPool, addressOf, call } from '../../support/chain/foreign-pools';
import { Operators } from '../../support/verify/operators';

const compiled = compile(['test/support/solidity/Vaults.sol', 'test/support/solidity/Coin.sol']);

describe.each([
  [6, 0],
  [18, 6],
])('vaults of ERC-4626, with an asset of %i decimals and %i more for shares', (decimals, offset) => {
  const bench = useChain();
  const operators = new Operators(bench);
  const unit = 10n ** BigInt(decimals);
  let [coin, vault, passage]: Address[] = [];

  const toVault = (client: DevClient, name: string, ...args: unknown[]) =>
    call(client, { ...compiled.PlainVault, address: vault }, name, ...args);
  const view = (functionName: string, ...args: unknown[]): Promise<bigint> =>
    bench.owner.readContract({
      abi: compiled.PlainVault.abi,
      address: vault,
      functionName,
      args,
    }) as Promise<bigint>;
  const sellAll = async (client: DevClient): Promise<void> => {
    const own = addressOf(client);
    await toVault(client, 'redeem', await view('balanceOf', own), own, own);
  };
  /** What the vault earns. */
  const earn = (amount: bigint) =>
    call(bench.owner, { ...compiled.Coin, address: coin }, 'mint', vault, amount);

  const poolOf = (owner: DevClient, deposit?: bigint): Promise<string> =>
    addPool(bench, owner, { type: 'individual', contract: vault, deposit });

  /** What the database says of an account's pool: balance, paid in, taken out, claimed. */
  const position = async (pool: string): Promise<bigint[]> => {
    const [row] = await bench.sql<Record<string, string>>(
      'SELECT balance, deposited, withdrawn, claimed FROM positions WHERE pool_id = $1',
      [pool],
    );
    return Object.values(row ?? {}).map(BigInt);
  };

  /** Shares are those of the vault, and a cost is what an account has paid in and not taken out. */
  async function holdingsAreTrue(): Promise<void> {
    const rows = await bench.sql<{ account: Address; shares: string; cost: string; flow: string | null }>(
      `SELECT h.account, h.shares, h.cost, p.balance AS flow FROM share_holdings h
       LEFT JOIN users u ON u.address = h.account LEFT JOIN pools o ON o.owner_id = u.id AND o.contract_address = h.vault
       LEFT JOIN positions p ON p.pool_id = o.id`,
    );
    for (const { account, shares, cost, flow } of rows) {
      expect(BigInt(shares)).toBe(await view('balanceOf', account));
      if (flow !== null) expect(flow).toBe(cost);
    }
    const total = rows.reduce((sum, { shares }) => sum + BigInt(shares), 0n);
    expect(total).toBe((await view('totalSupply')) - (await view('balanceOf', vault)));
  }

  beforeAll(async () => {
    const { owner } = bench;
    coin = (await deploy(owner, compiled.Coin, ['COIN', decimals])).address;
    vault = (await deploy(owner, compiled.PlainVault, [coin, offset])).address.toLowerCase() as Address;
    passage = (await deploy(owner, compiled.Passage, [])).address;
    const args = [coin, owner.account.address, 1n];
    const { address: pool } = await deploy(owner, artifacts.SavingsPool, args);
    const { address: lottery } = await deploy(owner, artifacts.LotteryPool, args);
    bench.deployment.contracts = byPoolType((type) => (type === TYPE_WITH_DRAWS ? lottery : pool));
    bench.further.push(['individual:erc4626', vault]);
    for (const client of [owner, bench.saver, bench.other]) {
      await call(client, { ...compiled.Coin, address: coin }, 'mint', client.account.address, 1000n * unit);
      await call(client, { ...compiled.Coin, address: coin }, 'approve', vault, maxUint256);
      await toVault(client, 'approve', passage, maxUint256);
    }
    for (const client of [owner, bench.other])
      await bench.sql('INSERT INTO users VALUES (gen_random_uuid(), $1, now())', [addressOf(client)]);
  });
  afterEach(() => bench.leave());

  let own: string;
  it('are followed to the unit: what was paid in and what it has earned', async () => {
    const { saver, other } = bench;
    own = await poolOf(saver, 50n * unit);
    const indexer = await bench.follow();
    await toVault(saver, 'deposit', 50n * unit, addressOf(saver));
    await earn(7n * unit + 3n);
    const shares = await view('balanceOf', addressOf(saver));
    const sold = shares / 3n;
    const paid = await view('previewRedeem', sold);
    await toVault(saver, 'redeem', sold, addressOf(other), addressOf(saver));
    await bench.atHead();
    const cost = (50n * unit * sold) / shares;
    expect(await position(own)).toEqual([50n * unit - cost, 50n * unit, cost, paid - cost]);
    expect(paid - cost).toBeGreaterThan(2n * unit);
    const rows = await bench.sql(
      `SELECT type, status, amount, requested_amount IS NOT NULL AS announced FROM transactions WHERE pool_id = $1 ORDER BY id`,
      [own],
    );
    expect(rows).toEqual(
      expect.arrayContaining([
        { type: 'DEPOSIT', status: 'CONFIRMED', amount: `${50n * unit}`, announced: true },
        { type: 'WITHDRAWAL', status: 'CONFIRMED', amount: `${cost}`, announced: false },
        { type: 'YIELD_CLAIM', status: 'CONFIRMED', amount: `${paid - cost}`, announced: false },
      ]),
    );
    expect(rows).toHaveLength(3);
    await holdingsAreTrue();
    // A claim of what nothing has accrued is nothing odd.
    const { values } = await indexer.get(IndexerTelemetry).anomalies.get();
    expect(values.filter(({ value }) => value > 0)).toEqual([]);
    expect(await operators.verified()).toEqual([]);
  });

  // Nothing below depends on decimals.
  if (offset === 0) return;

  it('take what shares have cost to who gets them, whose pool may come later', async () => {
    const { saver, other } = bench;
    await bench.follow();
    const [before] = await position(own);
    const held = await view('balanceOf', addressOf(saver));
    await toVault(saver, 'transfer', addressOf(other), held / 4n);
    await toVault(saver, 'transfer', addressOf(other), 0n);
    await bench.atHead();
    const moved = (before * (held / 4n)) / held;
    expect((await position(own))[0]).toBe(before - moved);
    const theirs = await poolOf(other);
    await until(async () => (await position(theirs))[0] === moved);
    // Within one block: from the saver to a contract, which sells a half and gives the other.
    await toVault(other, 'deposit', 11n * unit, addressOf(other));
    await earn(unit);
    await call(saver, { ...compiled.Passage, address: passage }, 'pass', vault, held / 2n, addressOf(other));
    await bench.atHead();
    await holdingsAreTrue();
    expect(
      await bench.sql(`SELECT * FROM share_holdings WHERE account = $1`, [passage.toLowerCase()]),
    ).toEqual([]);
    // All of it, and nothing is left.
    await sellAll(other);
    await bench.atHead();
    const [balance, deposited, withdrawn, claimed] = await position(theirs);
    expect([balance, deposited - withdrawn]).toEqual([0n, 0n]);
    expect(claimed).toBeGreaterThan(0n);
    await holdingsAreTrue();
    const outcomes = `SELECT outcome FROM chain_events WHERE shares IS NOT NULL GROUP BY 1 ORDER BY 1`;
    expect(await bench.sql(outcomes)).toEqual([{ outcome: 'APPLIED' }, { outcome: 'UNKNOWN_POOL' }]);
    expect(await operators.verified()).toEqual([]);
  });

  it('tell what can be claimed, and the rate, by the price of a share, which goes with its block', async () => {
    const { saver } = bench;
    await bench.follow();
    await toVault(saver, 'deposit', 20n * unit, addressOf(saver));
    await earn(5n * unit + 1n);
    await bench.atHead();
    const { number } = (await bench.cursor())!;
    const prices = (): Promise<{ block_number: string }[]> =>
      bench.sql('SELECT block_number FROM share_prices ORDER BY day');
    await until(async () => Number((await prices()).at(-1)?.block_number) === number);
    const told = async ({ text, parameters }: typeof POOL_YIELD): Promise<Record<string, string>> => {
      const values = parameters.map((name) => (name === 'pool' ? own : addressOf(saver)));
      const [{ data }] = await bench.sql<{ data: string }>(text, values);
      return JSON.parse(data) as Record<string, string>;
    };
    const [balance, , , claimed] = await position(own);
    const worth = await view('convertToAssets', await view('balanceOf', addressOf(saver)));
    const { claimableYield, totalYield, apr } = await told(POOL_YIELD);
    expect(BigInt(claimableYield)).toBeGreaterThan(unit);
    // The price and the worth are both rounded down.
    expect([0n, 1n]).toContain(worth - balance - BigInt(claimableYield));
    expect([BigInt(totalYield), apr]).toEqual([BigInt(claimableYield) + claimed, 0]);
    expect(await told(POOL_DETAIL)).toMatchObject({ totalYield, apr });
    expect(await told(POOL_POSITION)).toMatchObject({ claimable: claimableYield, earned: totalYield });
    await bench.sql(`INSERT INTO share_prices SELECT vault, day - 2, block_number - 1, block_time - interval '2 days',
      div(price * 100, 101) FROM share_prices`);
    expect(await told(POOL_YIELD)).toMatchObject({ claimableYield, apr: 182.5 });
    await bench.leave();
    await operators.rewind(number - 1);
    expect(await prices()).toEqual([{ block_number: `${number - 1}` }]);
  });

  const SECOND = 2 ** 21;
  const [SOLD, GIVEN, GOT] = [
    `kind = 'Withdrawn' AND log_index < ${SECOND}`,
    `kind = 'Withdrawn' AND log_index >= ${SECOND}`,
    `kind = 'Deposited' AND log_index + ${SECOND} IN (SELECT log_index FROM chain_events o WHERE o.block_number = e.block_number)`,
  ];
  const ANY = 'WHERE ctid = (SELECT max(ctid) FROM share_holdings)';
  it('name each wrong holding, and repair it from the events', async () => {
    const before = await bench.state();
    const changes = ['shares', 'cost'].map(
      (column) => `UPDATE share_holdings SET ${column} = ${column} + 1 ${ANY}`,
    );
    for (const [i, change] of [...changes, `DELETE FROM share_holdings ${ANY}`].entries()) {
      await bench.sql(change);
      // By the vault too, unless the events have told it before.
      if (i === 0)
        expect(await operators.verified()).toContainEqual(expect.objectContaining({ kind: 'chain.shares' }));
      const found = (await operators.verified(true)) as { kind: string }[];
      const columns = i === 2 ? ['shares', 'cost'] : [['shares', 'cost'][i]];
      expect([change, found.map(({ kind }) => kind)]).toEqual([
        change,
        expect.arrayContaining(columns.map((column) => `share_holdings.${column}`)),
      ]);
      expect(await bench.state()).toEqual(before);
    }
  });

  it.each([
    ['cost of shares that were sold', SOLD, 'amount', 'amount + 1', 'amount'],
    ['cost of shares that were given', GIVEN, 'amount', 'amount + 1', 'amount'],
    ['cost of shares that somebody got', GOT, 'amount', 'amount + 1', 'amount'],
    ['yield', `kind = 'YieldClaimed' AND amount > 0`, 'amount', 'amount + 1', 'amount'],
    ['number of shares beside those of the log', `kind = 'YieldClaimed'`, 'shares', '1', 'shares'],
    ['number of shares that somebody got', GOT, 'shares', 'shares + 1', 'shares'],
    ['kind', SOLD, 'kind', `'SharesSold'`, 'kind'],
    ['kind of a second part', GIVEN, 'kind', `'YieldClaimed'`, 'kind'],
  ])(
    'name an event with another %s than follows from those before',
    async (_, which, column, value, kind) => {
      const before = await bench.state();
      const [event] = await bench.sql<Record<string, string>>(
        `SELECT block_number, log_index, kind, amount, shares FROM chain_events e WHERE shares IS NOT NULL AND ${which} LIMIT 1`,
      );
      const at = `WHERE block_number = ${event.block_number} AND log_index = ${event.log_index}`;
      await bench.sql(`UPDATE chain_events SET ${column} = ${value} ${at}`);
      const changed = await bench.state();
      expect(await operators.verified(true)).toContainEqual(
        expect.objectContaining({ kind: `chain_events.${kind}`, repaired: false }),
      );
      // What follows from an event in doubt stays.
      expect(await bench.state()).toEqual(changed);
      await bench.sql(`UPDATE chain_events SET ${column} = $1 ${at}`, [event[column]]);
      expect(await bench.state()).toEqual(before);
    },
  );

  it('are followed when they are minted for a fee, or burned for nothing', async () => {
    const { saver, owner } = bench;
    await bench.follow();
    await toVault(saver, 'takeFees', addressOf(owner));
    await toVault(saver, 'deposit', 20n * unit, addressOf(saver));
    const fee = await view('balanceOf', addressOf(owner));
    expect(fee).toBeGreaterThan(0n);
    await toVault(owner, 'deposit', 10n * unit, addressOf(owner));
    await toVault(saver, 'takeFees', zeroAddress);
    await bench.atHead();
    await holdingsAreTrue();
    // Nothing was paid in for the fee, so all its proceeds are yield.
    await toVault(owner, 'giveUp', fee / 2n);
    await sellAll(owner);
    const theirs = await poolOf(owner);
    await bench.atHead();
    await until(async () => (await position(theirs))[2] === 10n * unit);
    expect((await position(theirs))[3]).toBeGreaterThan(0n);
    await holdingsAreTrue();
    expect(await operators.verified()).toEqual([]);
  });

  it('wait for confirmations with the worth that they had', async () => {
    const { saver } = bench;
    await bench.follow({ CONFIRMATIONS: '3' });
    await bench.atHead();
    const [before] = await position(own);
    await toVault(saver, 'deposit', 9n * unit, addressOf(saver));
    await sellAll(saver);
    await bench.atHead();
    expect((await position(own))[0]).toBe(before);
    expect(await view('balanceOf', addressOf(saver))).toBe(0n);
    expect(await bench.sql('SELECT FROM share_holdings WHERE account = $1', [addressOf(saver)])).toEqual([]);
    await bench.mine(3);
    await bench.atHead();
    expect((await position(own))[0]).toBe(0n);
    expect(await operators.verified()).toEqual([]);
  });

  it('that were stored by another rule are named by a replay, and right once the contract is read again', async () => {
    const readAgain = async (): Promise<unknown> => {
      await operators.rewind(undefined, vault);
      await bench.follow();
      await until(async () => (await bench.sql('SELECT FROM chain_contracts_apart')).length === 0);
      await bench.leave();
      return bench.state();
    };
    // A pool that came after its events may have its name by another one of them.
    const right = await readAgain();
    const [given] = await bench.sql<{ block: string; log: string }>(
      `SELECT block_number AS block, log_index AS log FROM chain_events WHERE ${GIVEN} ORDER BY 1 DESC, 2 DESC LIMIT 1`,
    );
    const at = `block_number = ${given.block} AND log_index IN (${given.log}, ${Number(given.log) - SECOND})`;
    await bench.sql(`UPDATE chain_events SET amount = 1000000 WHERE ${at}`);
    await bench.sql(`INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind,
        pool_id, pool_name, account, amount, shares, outcome)
      SELECT block_number, 77, block_hash, block_time, tx_hash, contract, block_number * ${2 * SECOND} + 77, 'Deposited', pool_id,
        pool_name, account, 9990, 0, 'APPLIED' FROM chain_events WHERE ${at} AND log_index < ${SECOND}`);
    expect(await operators.replay()).toMatchObject({
      refused: expect.arrayContaining([expect.stringMatching(/^chain_events\.kind /)]) as unknown,
    });
    expect(await readAgain()).toEqual(right);
    const { listed } = await operators.verify();
    // What was changed behind the triggers' back was never published.
    expect(listed.filter(({ kind }) => !kind.startsWith('outbox.'))).toEqual([]);
  });
});

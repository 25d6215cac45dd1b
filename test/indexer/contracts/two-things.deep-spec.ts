import { Module } from '@nestjs/common';
import { type Address, parseAbi } from 'viem';
import { type DevClient, deploy } from '#dev/deploy';
import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';
import { compile } from '../../../scripts/compile-contracts';
import { useChain } from '../../support/chain/chain-bench';
import { addPool, addressOf, call } from '../../support/chain/foreign-pools';
import { fractions } from '../../support/random';
import { Operators } from '../../support/verify/operators';

const compiled = compile(['test/support/solidity/Members.sol']);
const abi = parseAbi([
  'event Came(address indexed account, uint256 amount)',
  'event Left(address indexed account, uint256 amount, uint256 reward)',
  'event Kept(address indexed account, uint256 reward)',
  'event Paid(address indexed account, uint256 amount, uint256 remaining)',
]);
const On = eventsOf(abi);
type Event<Name extends Parameters<typeof On>[0]> = EventOf<typeof abi, Name>;

@PoolContract({
  name: 'members',
  types: ['individual'],
  abi,
  poolsBy: 'account',
  views: { balance: 'members(address account) returns (uint64 since, uint256 value)' },
})
class Members {
  @On('Came')
  came({ account, amount }: Event<'Came'>): Happening {
    return { kind: 'Deposited', poolAccount: account, account, amount };
  }

  @On('Left')
  left({ account, amount, reward }: Event<'Left'>): Happening[] {
    const of = { poolAccount: account, account };
    return [
      { kind: 'Withdrawn', ...of, amount },
      { kind: 'YieldClaimed', ...of, amount: reward },
    ];
  }

  @On('Paid')
  paid({ account, amount, remaining }: Event<'Paid'>): Happening {
    return { kind: 'Withdrawn', poolAccount: account, account, amount, remaining };
  }

  @On('Kept')
  kept({ account, reward }: Event<'Kept'>): Happening[] {
    const of = { poolAccount: account, account, amount: reward };
    return [
      { kind: 'YieldClaimed', ...of },
      { kind: 'Deposited', ...of },
    ];
  }
}

@Module({ providers: [Members] })
class MembersModule {}

/** Two endpoints, so that what they say is compared. */
describe('a contract that pays principal and yield by one event', () => {
  const bench = useChain(2);
  const operators = new Operators(bench, [MembersModule]);
  const random = fractions(45);
  const upTo = (most: number): bigint => BigInt(Math.floor(random() * (most + 1)));
  let contract: { address: Address; abi: (typeof compiled.Members)['abi'] };

  const follow = async (): Promise<void> => {
    await bench.follow({}, [MembersModule]);
    await bench.mine(1);
    await bench.atHead();
  };
  const send = (client: DevClient, name: string, ...args: bigint[]) => call(client, contract, name, ...args);
  const held = async (client: DevClient): Promise<bigint> => {
    const args = [client.account.address];
    return ((await client.readContract({ ...contract, functionName: 'members', args })) as bigint[])[1];
  };
  async function operate(times: number): Promise<void> {
    for (let i = 0; i < times; i += 1) {
      const client = random() < 0.5 ? bench.saver : bench.other;
      const kind = Math.floor(random() * 4);
      if (kind === 0) await send(client, 'come', upTo(50));
      if (kind === 1) await send(client, 'takeOut', upTo(Number(await held(client))), upTo(9));
      if (kind === 2) await send(client, 'keep', upTo(9));
      const earned = upTo(9);
      // What is earned leaves with the payment: the ledger cannot know of what stays.
      if (kind === 3) await send(client, 'pay', earned + upTo(Number(await held(client))), earned);
    }
  }
  /** By the contract's own state and logs. */
  async function expected(client: DevClient): Promise<string> {
    const logs = await client.getContractEvents({ ...contract, abi, fromBlock: 0n, strict: true });
    const own = logs.filter(({ args }) => args.account === client.account.address);
    let [has, claimed] = [0n, 0n];
    for (const { eventName, args } of own) {
      const {
        amount = 0n,
        reward = 0n,
        remaining,
      } = args as Partial<Record<'amount' | 'reward' | 'remaining', bigint>>;
      claimed += remaining === undefined ? reward : remaining + amount - has;
      has =
        remaining ?? has + (eventName === 'Left' ? -amount : amount + (eventName === 'Kept' ? reward : 0n));
    }
    expect(await held(client)).toBe(has);
    return `${await held(client)} ${claimed}`;
  }
  const stored = async (client: DevClient): Promise<string> => {
    const rows = await bench.sql<{ held: string }>(
      `SELECT concat_ws(' ', balance, claimed) AS held FROM positions WHERE address = $1`,
      [addressOf(client)],
    );
    return rows[0].held;
  };
  async function compare(): Promise<void> {
    await bench.atHead();
    for (const client of [bench.saver, bench.other])
      expect(await stored(client)).toBe(await expected(client));
    const { listed, notChecked, checked } = await operators.verify();
    expect([...listed, ...notChecked]).toEqual([]);
    expect(checked['chain.balance']).toBeGreaterThan(0);
    expect(await bench.sql(`SELECT FROM chain_events WHERE outcome <> 'APPLIED'`)).toEqual([]);
  }

  beforeAll(async () => {
    const { owner, saver, other } = bench;
    const { address } = await deploy(owner, compiled.Members, [bench.deployment.token]);
    contract = { address: address.toLowerCase() as Address, abi: compiled.Members.abi };
    bench.further.push(['individual:members', contract.address]);
    await bench.sql('INSERT INTO users VALUES (gen_random_uuid(), $1, now())', [addressOf(other)]);
    for (const client of [saver, other])
      await addPool(bench, client, { type: 'individual', contract: contract.address });
  });

  it('is followed to the unit, also across reorganisations, and by replay and verification', async () => {
    await follow();
    for (const depth of [0, 1, 4]) {
      await operate(15);
      await bench.atHead();
      if (depth > 0) await bench.rpc('anvil_reorg', depth, []);
      await operate(5);
      await compare();
    }
    expect(await operators.replay()).toEqual({ corrected: [], refused: [] });
  });

  it('takes out of a block no more than was paid in before', async () => {
    await bench.rpc('evm_setAutomine', false);
    const { saver } = bench;
    const before = await held(saver);
    const all: [name: string, ...args: bigint[]][] = [
      ['come', 20n],
      ['takeOut', before + 20n, 3n],
      ['keep', 4n],
      ['takeOut', 4n, 0n],
    ];
    for (const [functionName, ...args] of all)
      await saver.writeContract({ ...contract, functionName, args, gas: 1_000_000n });
    await bench.mine(1);
    await bench.rpc('evm_setAutomine', true);
    await compare();
    const { number } = (await bench.cursor())!;
    const kinds = await bench.sql(
      'SELECT kind FROM chain_events WHERE block_number = $1 ORDER BY log_index',
      [number],
    );
    expect(kinds.map(({ kind }) => kind as string)).toEqual([
      ...['Deposited', 'Withdrawn', 'Deposited', 'Withdrawn'],
      ...['YieldClaimed', 'YieldClaimed'],
    ]);
    expect(await held(saver)).toBe(0n);
  });

  it('books what is paid beyond the position as yield', async () => {
    const { saver } = bench;
    const rest = await held(saver);
    await send(saver, 'pay', rest, 0n);
    await send(saver, 'come', 5n);
    await send(saver, 'grow', 7n);
    await send(saver, 'takeOut', 12n, 3n);
    await bench.atHead();
    const rows = await bench.sql(
      `SELECT type, amount FROM transactions WHERE account = $1 ORDER BY block_number DESC, log_index DESC LIMIT 3`,
      [addressOf(saver)],
    );
    expect(rows).toEqual([
      { type: 'YIELD_CLAIM', amount: '10' },
      { type: 'WITHDRAWAL', amount: '5' },
      { type: 'DEPOSIT', amount: '5' },
    ]);
    const { listed, notChecked } = await operators.verify();
    expect([...listed, ...notChecked]).toEqual([]);
    expect(await operators.replay()).toEqual({ corrected: [], refused: [] });
  });

  it('has two transactions of such a log, of which the second has a place of its own', async () => {
    await send(bench.saver, 'come', 20n);
    await send(bench.saver, 'takeOut', 20n, 3n);
    await bench.atHead();
    const rows = await bench.sql(
      `SELECT type, amount, log_index::int AS log FROM transactions WHERE account = $1
       ORDER BY block_number DESC, log_index DESC LIMIT 3`,
      [addressOf(bench.saver)],
    );
    expect(rows).toEqual([
      { type: 'YIELD_CLAIM', amount: '3', log: 2 ** 21 },
      { type: 'WITHDRAWAL', amount: '20', log: 0 },
      { type: 'DEPOSIT', amount: '20', log: 0 },
    ]);
    // What the stream tells of them.
    const told = await bench.sql<{ item: Record<string, unknown> }>(
      'SELECT item FROM outbox o CROSS JOIN json_array_elements(o.items) AS item',
    );
    const items = told.map(({ item }) => JSON.stringify(item)).join('\n');
    expect(items).toMatch(new RegExp(`"logIndex":\\s?${2 ** 21}\\b`));
  });

  it('is the same when it is read from the beginning', async () => {
    const before = await bench.state();
    await bench.leave();
    const { saver, other } = bench;
    const pools = await bench.sql<{ id: string; address: string }>(
      `SELECT p.id, u.address FROM pools p JOIN users u ON u.id = p.owner_id WHERE contract_address = $1`,
      [contract.address],
    );
    await bench.startAfresh();
    await bench.sql('INSERT INTO users VALUES (gen_random_uuid(), $1, now())', [addressOf(other)]);
    for (const client of [saver, other]) {
      const { id } = pools.find(({ address }) => address === addressOf(client))!;
      await addPool(bench, client, { id, type: 'individual', contract: contract.address });
    }
    await follow();
    expect(await bench.state()).toEqual(before);
  });
});

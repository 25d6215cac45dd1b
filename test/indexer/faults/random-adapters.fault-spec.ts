import { v7 as newId } from 'uuid';
import { type Abi, type Address, maxUint256 } from 'viem';
import { type DevClient, artifacts, deploy, receiptOf } from '#dev/deploy';
import { bytes16 } from '#values/bytes16';
import type { PoolType } from '#values/types';
import { endpointsOf } from '#indexer/verification';
import { Progress } from '#verify/progress';
import { Verification } from '#verify/verify';
import { ChainBench, type IndexerProcess, eventually } from '../../support/chain/chain-bench';
import { NO_REF } from '../../support/chain/contracts';
import { addPool, addressOf } from '../../support/chain/foreign-pools';
import { Indexers, type Random, contractsOf, lie, one, trouble } from '../../support/network/random-faults';
import { freshDatabase, urlAs } from '../../support/database';
import { SEED, generator } from '../../support/random';

const ROUNDS = Number(process.env.ROUNDS ?? 5);
/** Where few kinds of events were left after those. */
const MOST_ROUNDS = 4 * ROUNDS;
const ACTIONS = 16;
const HOUR = 3600;

interface Contract {
  abi: Abi;
  address: Address;
}
interface Pool {
  id: string;
  type: PoolType;
  owner: DevClient;
  contract: Address;
}

/** Vaults, contracts of others, circles and compounding: whatever adapters there are beside the oldest events. */
class Scene {
  readonly bench = new ChainBench(2);
  readonly savers: DevClient[] = [];
  private readonly pools: Pool[] = [];
  /** What an account has of the first is a pool, and the second is one. */
  private vaults: Contract[];
  private savings: Contract;
  private clubs: Contract;
  private kitty: Contract;
  private circles: Contract;
  private token: Contract;

  constructor(private readonly random: Random) {}

  async start(): Promise<void> {
    const { bench } = this;
    await bench.start();
    this.savers.push(bench.saver, bench.other);
    const { token, contracts } = bench.deployment;
    this.token = { abi: artifacts.TestToken.abi, address: token };
    this.circles = { abi: artifacts.RotatingPool.abi, address: contracts.rotating };
    this.vaults = [
      await this.follow('individual:erc4626', artifacts.TestVault),
      await this.follow('cooperative:erc4626-pool', artifacts.TestVault),
    ];
    [this.savings, this.clubs, this.kitty] = [
      await this.follow('individual:accounts', artifacts.AccountSavings),
      await this.follow('cooperative:clubs', artifacts.Clubs),
      await this.follow('cooperative:kitty', artifacts.Kitty),
    ];
    for (const client of [bench.owner, ...this.savers]) {
      await this.send(client, this.token, 'mint', client.account.address, 10n ** 9n);
      for (const { address } of [...this.vaults, this.savings, this.clubs, this.kitty, this.circles])
        await this.send(client, this.token, 'approve', address, maxUint256);
    }
    for (const owner of this.savers)
      for (const [type, contract] of [
        ['individual', this.vaults[0].address],
        ['individual', this.savings.address],
        ['cooperative', this.clubs.address],
        ['cooperative', this.clubs.address],
        ['rotating', this.circles.address.toLowerCase()],
      ] as const)
        this.pools.push({ id: newId(), type, owner, contract: contract as Address });
    for (const { address } of [this.vaults[1], this.kitty])
      this.pools.push({ id: newId(), type: 'cooperative', owner: bench.saver, contract: address });
    await this.insertPools();
  }

  private async follow(name: string, contract: { abi: Abi; bytecode: `0x${string}` }): Promise<Contract> {
    const made = await deploy(this.bench.owner, contract, [this.bench.deployment.token]);
    const address = made.address.toLowerCase() as Address;
    this.bench.further.push([name, address]);
    return { abi: contract.abi, address };
  }

  private async insertPools(): Promise<void> {
    for (const saver of this.savers)
      await this.bench.sql('INSERT INTO users VALUES (gen_random_uuid(), $1, now()) ON CONFLICT DO NOTHING', [
        addressOf(saver),
      ]);
    for (const { owner, ...pool } of this.pools) await addPool(this.bench, owner, pool);
  }

  /** Another database with the same pools, as if nothing had been read yet. */
  async startAfresh(): Promise<void> {
    const before = this.bench.database;
    await this.bench.useDatabase(await freshDatabase());
    await this.insertPools();
    await before.drop();
  }

  /** What the contract refuses is as good as nothing done. */
  private async send(
    client: DevClient,
    contract: Contract,
    functionName: string,
    ...args: unknown[]
  ): Promise<void> {
    await receiptOf(client, await client.writeContract({ ...contract, functionName, args, gas: 2_000_000n }));
  }

  private read<T>({ abi, address }: Contract, functionName: string, ...args: unknown[]): Promise<T> {
    return this.bench.owner.readContract({ abi, address, functionName, args }) as Promise<T>;
  }

  actions(indexers: Indexers): (() => Promise<unknown>)[] {
    const { bench, random, savings, clubs, kitty, circles, token } = this;
    const saver = (): DevClient => one(random, this.savers);
    const amount = (): bigint => BigInt(1 + random(1000));
    const club = async (): Promise<bigint> =>
      BigInt(random(1 + Number(await this.read<bigint>(clubs, 'count'))));
    const circle = async (): Promise<bigint> =>
      BigInt(1 + random(Math.max(1, Number(await this.read<bigint>(circles, 'circles')))));
    const inCircle = (name: string) => async () => this.send(saver(), circles, name, await circle(), NO_REF);
    const reference = (): Contract => ({
      abi: artifacts.SavingsPool.abi,
      address: bench.deployment.contracts.cooperative,
    });
    const vault = (): Contract => one(random, this.vaults);
    const pool = (): string => bytes16(one(random, bench.pools));
    return [
      () => {
        const client = saver();
        return this.send(client, vault(), 'deposit', amount(), client.account.address);
      },
      () => this.send(saver(), vault(), 'deposit', amount(), saver().account.address),
      () => this.send(bench.owner, vault(), 'mint', amount(), saver().account.address),
      async () => {
        const [client, from] = [saver(), vault()];
        const { address } = client.account;
        const most = await this.read<bigint>(from, 'maxWithdraw', address);
        const part = random(3) === 0 ? most : (most * BigInt(random(100))) / 100n;
        return this.send(client, from, 'withdraw', part, saver().account.address, address);
      },
      async () => {
        const [client, from] = [saver(), vault()];
        const { address } = client.account;
        const held = await this.read<bigint>(from, 'balanceOf', address);
        const part = random(3) === 0 ? held : (held * BigInt(random(100))) / 100n;
        return random(2) === 0
          ? this.send(client, from, 'redeem', part, address, address)
          : this.send(client, from, 'transfer', saver().account.address, part);
      },
      () => this.send(bench.owner, token, 'mint', vault().address, amount()),
      () => this.send(saver(), savings, 'save', amount()),
      () => this.send(saver(), savings, 'unsave', amount()),
      () => this.send(bench.owner, savings, 'reward', saver().account.address, amount()),
      () => this.send(saver(), savings, 'takeReward'),
      () => this.send(saver(), kitty, 'putIn', amount()),
      () => this.send(saver(), kitty, 'takeOut', amount()),
      () => this.send(saver(), kitty, 'takeReward'),
      () => this.send(bench.owner, kitty, 'reward', saver().account.address, amount()),
      () => this.send(saver(), clubs, 'createPool', 'a club'),
      async () => this.send(saver(), clubs, 'pay', await club(), amount()),
      async () => this.send(saver(), clubs, random(3) === 0 ? 'takeAll' : 'takeYield', await club()),
      async () => this.send(bench.owner, clubs, 'reward', await club(), saver().account.address, amount()),
      async () => {
        const { timestamp } = await bench.owner.getBlock();
        const of = one(
          random,
          this.pools.filter(({ type }) => type === 'rotating'),
        );
        const members = this.savers.map(({ account }) => account.address);
        const terms = [100n, BigInt(random(2) * 100), HOUR, timestamp + 100n, members];
        return this.send(bench.saver, circles, 'openCircle', bytes16(of.id), ...terms);
      },
      inCircle('join'),
      inCircle('join'),
      inCircle('contribute'),
      inCircle('contribute'),
      inCircle('claimPayout'),
      inCircle('claimRefund'),
      async () =>
        this.send(bench.owner, circles, random(4) === 0 ? 'cancelCircle' : 'endRound', await circle()),
      () => bench.deposit(one(random, bench.pools), amount()),
      () => bench.call(bench.owner, 'accrueYield', [pool(), BigInt(1 + random(999)), 1 + random(900)]),
      () =>
        this.send(bench.saver, reference(), random(4) === 0 ? 'stopCompounding' : 'startCompounding', pool()),
      () => this.send(bench.other, reference(), 'compound', [pool()], [bench.saver.account.address]),
      () => bench.rpc('anvil_reorg', 1 + random(6), []),
      () => bench.rpc('anvil_reorg', 1 + random(6), []),
      () => bench.mine(1 + random(4)),
      () => indexers.takeover(),
    ];
  }

  /** At the head, with what an independent count of the events and the contracts' own views say. */
  async converged(): Promise<void> {
    const { bench } = this;
    await bench.atHead();
    const endpoints = endpointsOf({ RPC_URL: bench.anvil.url, RPC_REQUESTS_PER_SECOND: [] });
    await eventually(
      'no difference',
      async () => {
        const verification = new Verification(
          { databaseUrl: urlAs(bench.database.url, 'operator'), repair: false, limit: 20, endpoints },
          new Progress({ isTTY: false, write: () => true }),
          new AbortController().signal,
        );
        return (await verification.run()).listed;
      },
      (listed) => listed.length === 0,
    );
  }

  async state(): Promise<unknown[]> {
    const found: unknown[] = [];
    for (const text of [
      `SELECT block_number, log_index, contract, seq, kind, pool_id, pool_name, account, amount, fee, shares, outcome
       FROM chain_events ORDER BY block_number, log_index`,
      `SELECT pool_id, type, status, account, amount, tx_hash, block_number, log_index FROM transactions
       ORDER BY block_number, log_index`,
      'SELECT id, balance, total_yield, claimed_yield, deposit_count, withdrawal_count, claim_count FROM pools ORDER BY id',
      'SELECT * FROM positions ORDER BY pool_id, address',
      'SELECT * FROM share_holdings ORDER BY vault, account',
      'SELECT * FROM share_totals ORDER BY vault',
      'SELECT * FROM pool_names ORDER BY contract, name',
      'SELECT * FROM circles ORDER BY contract, circle_id',
      'SELECT * FROM circle_members ORDER BY contract, circle_id, place',
      'SELECT * FROM circle_rounds ORDER BY contract, circle_id, round',
      `SELECT contract, type, sum(deposited) AS deposited, sum(pending) AS pending FROM pool_totals
       GROUP BY 1, 2 ORDER BY 1, 2`,
    ])
      found.push(await this.bench.sql(text));
    return found;
  }

  /** Whether most kinds have happened, and stay: rounds that end without them show little. */
  async hasMuch(): Promise<boolean> {
    const [{ kinds }] = await this.bench.sql<{ kinds: number }>(
      'SELECT count(DISTINCT kind)::int AS kinds FROM chain_events',
    );
    return kinds > 3;
  }
}

describe('20: random rounds over all adapters', () => {
  const random = generator(SEED);
  const scene = new Scene(random);
  beforeAll(() => scene.start());
  afterAll(() => scene.bench.stop());

  it(`converge, and a replay from nothing gives the same state (SEED=${SEED})`, async () => {
    const { bench } = scene;
    const indexers = new Indexers(random, (): IndexerProcess => bench.indexer({ QUARANTINE_AFTER: '1' }));
    const actions = scene.actions(indexers);
    const told: string[] = [];
    const converged = (): Promise<void> =>
      scene.converged().catch((error: Error) => {
        throw new Error(`${error.message}\n${told.join('\n')}\n${indexers.output}`);
      });
    await indexers.restart();
    for (let round = 0; round < ROUNDS || (round < MOST_ROUNDS && !(await scene.hasMuch())); round += 1) {
      const lying = random(3) === 0 ? random(2) : undefined;
      if (lying !== undefined) await indexers.restart();
      const head = Number(await bench.owner.getBlockNumber({ cacheTime: 0 }));
      bench.proxies.forEach((proxy, i) => {
        const other = lying === undefined ? trouble(random, contractsOf(bench)) : {};
        proxy.faults = i === lying ? lie(random, head) : other;
      });
      told.push(`round ${round}: ${bench.proxies.map(({ faults }) => Object.entries(faults)).join(' | ')}`);
      for (let i = 0; i < ACTIONS; i += 1) await one(random, actions)().catch(() => undefined);
      for (const proxy of bench.proxies) proxy.faults = {};
      await converged();
    }
    await indexers.end();
    const first = await scene.state();
    expect(await scene.hasMuch()).toBe(true);
    await scene.startAfresh();
    await indexers.restart();
    await converged();
    expect(await scene.state()).toEqual(first);
    await indexers.end();
  });
});

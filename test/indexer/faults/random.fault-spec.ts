import { v7 as newId } from 'uuid';
import { type Abi, type Address, maxUint256 } from 'viem';
import { type DevClient, artifacts, deploy, receiptOf } from '#dev/deploy';
import { bytes16 } from '#values/bytes16';
import type { PoolType } from '#values/types';
import { ChainBench, type IndexerProcess } from '../../support/chain/chain-bench';
import { NO_REF } from '../../support/chain/contracts';
import { liars } from '../../support/chain/liars';
import type { Faults } from '../../support/chain/rpc-node';
import { addPool, addressOf } from '../../support/chain/foreign-pools';
import { freshDatabase } from '../../support/database';
import { Operators } from '../../support/verify/operators';
import { type Random, SEED, generator } from '../../support/random';

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const ACTIONS = 28;
const HOUR = 3600;
/** A round is long enough for contracts to be quarantined. */
const SOON = { QUARANTINE_AFTER: '1' };

const one = <T>(random: Random, of: T[]): T => of[random(of.length)];

/** An endpoint that fails or lags, but tells nothing false. */
function trouble(random: Random, contracts: string[]): Faults {
  let n = 0;
  const silent = one(random, contracts).toLowerCase();
  return one<Faults>(random, [
    // All that one contract says.
    { logs: (logs) => logs.filter(({ address }) => address.toLowerCase() !== silent) },
    { logs: (logs) => logs.filter(({ address }) => address.toLowerCase() !== silent) },
    {},
    { http: () => (n++ % 4 === 1 ? 502 : 'ok') },
    { http: () => 'drop' },
    { behind: () => n++ % 3 },
    { behind: () => 20 },
    { maxRange: 1 + random(5) },
    { maxBatch: 1 + random(10) },
    { batch: (answers) => [...answers].reverse() },
    { refuse: (method) => method === 'eth_getLogs' },
    // Its counts show it.
    { logs: (logs) => logs.filter((_, i) => i !== 1) },
  ]);
}

/** One that lies so that its own answers fit one another. */
const lie = (random: Random, head: number): Faults =>
  one<() => Faults>(random, [
    liars.amounts,
    liars.omission,
    () => liars.branch(Math.max(1, head - random(4))),
    () => liars.head(1 + random(1000)),
  ])();

/** The indexers of a chain: one that leads, and sometimes a second that stands by. */
class Indexers {
  private running: IndexerProcess[] = [];

  constructor(
    private readonly random: Random,
    private readonly start: () => IndexerProcess,
  ) {}

  /** All new, so that none remembers which endpoints failed or which contracts there were. */
  async restart(): Promise<void> {
    await this.end();
    for (let count = 1 + this.random(2); count > 0; count -= 1) this.running.push(this.start());
  }

  /** The oldest is killed. The next one takes over: one that stood by, or one that starts now. */
  async takeover(): Promise<void> {
    await this.running.shift()?.end('SIGKILL');
    if (this.running.length === 0 || this.random(2) === 0) this.running.push(this.start());
  }

  async end(): Promise<void> {
    for (const each of this.running.splice(0)) await each.end('SIGKILL');
  }

  get output(): string {
    return this.running.map(({ output }) => output).join('\n');
  }
}

const contractsOf = ({ deployment, further }: ChainBench): string[] => [
  ...Object.values(deployment.contracts),
  ...further.map(([, address]) => address),
];

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

/** The reference contracts, vaults and contracts of others: all adapters that there are. */
class Scene {
  readonly bench: ChainBench;
  private savers: DevClient[];
  private readonly pools: Pool[] = [];
  /** What an account has of the first is a pool, and the second is one. */
  private vaults: Contract[];
  private savings: Contract;
  private clubs: Contract;
  private kitty: Contract;
  private circles: Contract;
  private token: Contract;
  private readonly lotteries: Address[] = [];

  constructor(
    private readonly random: Random,
    endpoints: number,
  ) {
    this.bench = new ChainBench(endpoints);
  }

  async start(): Promise<void> {
    const { bench } = this;
    await bench.start();
    this.savers = [bench.saver, bench.other];
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
  private async send(client: DevClient, contract: Contract, functionName: string, ...args: unknown[]) {
    await receiptOf(client, await client.writeContract({ ...contract, functionName, args, gas: 2_000_000n }));
  }

  private read<T>({ abi, address }: Contract, functionName: string, ...args: unknown[]): Promise<T> {
    return this.bench.owner.readContract({ abi, address, functionName, args }) as Promise<T>;
  }

  /** What people and nodes do to the chain, and operators to its indexers. */
  actions(indexers: Indexers): (() => Promise<unknown>)[] {
    const { bench, random, savings, clubs, kitty, circles, token, lotteries } = this;
    const { cooperative, lottery } = bench.deployment.contracts;
    const saver = (): DevClient => one(random, this.savers);
    const amount = (): bigint => BigInt(1 + random(1000));
    const club = async (): Promise<bigint> =>
      BigInt(random(1 + Number(await this.read<bigint>(clubs, 'count'))));
    const circle = async (): Promise<bigint> =>
      BigInt(1 + random(Math.max(1, Number(await this.read<bigint>(circles, 'circles')))));
    const inCircle = (name: string) => async () => this.send(saver(), circles, name, await circle(), NO_REF);
    const reference = { abi: artifacts.SavingsPool.abi, address: cooperative };
    const vault = (): Contract => one(random, this.vaults);
    const pool = (): string => bytes16(one(random, bench.pools));
    const inDraw = (client: () => DevClient, name: string, counted: boolean) => async () => {
      const at = one(random, [lottery, lottery, ...lotteries]);
      const args = [await bench.currentDraw(at), ...(counted ? [BigInt(1 + random(5))] : [])];
      return bench.lottery(client(), name, args, at);
    };
    const open = async (at: Address): Promise<unknown> => {
      const { timestamp } = await bench.owner.getBlock();
      return bench.lottery(bench.owner, 'openDraw', [1n, timestamp + 3n], at);
    };
    const owner = (): DevClient => bench.owner;
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
        const rotating = this.pools.filter(({ type }) => type === 'rotating');
        const members = this.savers.map(({ account }) => account.address);
        const terms = [100n, BigInt(random(2) * 100), HOUR, timestamp + 100n, members];
        return this.send(bench.saver, circles, 'openCircle', bytes16(one(random, rotating).id), ...terms);
      },
      inCircle('join'),
      inCircle('join'),
      inCircle('contribute'),
      inCircle('contribute'),
      inCircle('claimPayout'),
      inCircle('claimRefund'),
      async () =>
        this.send(bench.owner, circles, random(4) === 0 ? 'cancelCircle' : 'endRound', await circle()),
      () => bench.deposit(one(random, bench.pools), amount(), undefined, saver()),
      async () => {
        const [id, sum] = [one(random, bench.pools), amount()];
        const deposit = await bench.pending(id, sum);
        return bench.deposit(id, random(4) === 0 ? sum + 1n : sum, random(2) ? deposit : undefined);
      },
      () => bench.withdraw(one(random, bench.pools), BigInt(1 + random(100)), saver()),
      () => bench.call(bench.owner, 'accrueYield', [pool(), amount(), 1 + random(900)]),
      () => bench.call(saver(), 'claimYield', [pool(), NO_REF]),
      () =>
        this.send(bench.saver, reference, random(4) === 0 ? 'stopCompounding' : 'startCompounding', pool()),
      () => this.send(bench.other, reference, 'compound', [pool()], [bench.saver.account.address]),
      () => open(one(random, [lottery, ...lotteries])),
      inDraw(saver, 'buyTickets', true),
      inDraw(saver, 'buyTickets', true),
      inDraw(saver, 'fundPrize', true),
      inDraw(owner, 'cancelDraw', false),
      async () => {
        await inDraw(owner, 'closeDraw', false)();
        await bench.mine(2);
        return inDraw(owner, 'completeDraw', false)();
      },
      inDraw(saver, 'refund', false),
      inDraw(saver, 'claimPrize', false),
      // A lottery contract beside the first, which the next indexers follow, and draws there: some before it is followed.
      async () => {
        if (lotteries.length === 2) return;
        lotteries.push(await bench.addLottery());
        if (random(2) === 0) await open(lotteries.at(-1)!);
        await indexers.restart();
      },
      // One contract is taken back by hand, beside the leader.
      async () => {
        const { number } = (await bench.cursor())!;
        const contract = one(random, [...Object.values(bench.deployment.contracts), ...lotteries]);
        await bench.rewind(Math.max(1, number - random(30)), { RPC_URL: bench.anvil.url }, contract);
      },
      () => bench.rpc('anvil_reorg', 1 + random(6), []),
      () => bench.rpc('anvil_reorg', 1 + random(6), []),
      () => bench.mine(1 + random(4)),
      () => bench.addPool(),
      () => indexers.takeover(),
    ];
  }
}

describe.each([1, 2, 3])('20: random rounds over all adapters with %d endpoints', (endpoints) => {
  const random = generator(SEED + endpoints);
  const scene = new Scene(random, endpoints);
  const { bench } = scene;
  beforeAll(() => scene.start());
  afterAll(() => bench.stop());

  it(`converge; a replay, a rewind and another database give the same state (SEED=${SEED})`, async () => {
    const indexers = new Indexers(random, () => bench.indexer(SOON));
    const actions = scene.actions(indexers);
    const told: string[] = [];
    const converged = (): Promise<void> =>
      bench.converged().catch((error: Error) => {
        throw new Error(`${error.message}\n${told.join('\n')}\n${indexers.output}`);
      });
    await indexers.restart();
    for (let round = 0; round < ROUNDS; round += 1) {
      // Against a liar others must stand: where there are two, the other one is well, and has not failed lately.
      const lying = endpoints > 1 && random(2) === 0 ? random(endpoints) : undefined;
      if (lying !== undefined) await indexers.restart();
      const head = Number(await bench.owner.getBlockNumber({ cacheTime: 0 }));
      const spared = lying === undefined ? undefined : (lying + 1) % endpoints;
      bench.proxies.forEach((proxy, i) => {
        proxy.faults =
          i === lying ? lie(random, head) : i === spared ? {} : trouble(random, contractsOf(bench));
      });
      told.push(`round ${round}: ${bench.proxies.map(({ faults }) => Object.entries(faults)).join(' | ')}`);
      for (let i = 0; i < ACTIONS; i += 1) {
        await one(random, actions)().catch(() => undefined);
        // Another endpoint fails, or a failing one is well again, in the middle of it.
        if (lying === undefined && random(4) === 0)
          one(random, bench.proxies).faults = trouble(random, contractsOf(bench));
      }
      for (const proxy of bench.proxies) proxy.faults = {};
      await converged();
    }
    await indexers.end();
    const first = await bench.state();
    const operators = new Operators(bench);
    expect(await operators.replay()).toEqual({ corrected: [], refused: [] });
    await operators.rewind((await bench.cursor())!.number - 10);
    for (const prepare of [() => undefined, () => scene.startAfresh()]) {
      await prepare();
      await indexers.restart();
      await converged();
      expect(await bench.state()).toEqual(first);
      await indexers.end();
    }
  });
});

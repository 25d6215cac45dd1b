import { ContractWriter } from '#indexer/contracts/contract-writer';
import { LeadershipLost } from '#indexer/ledger/chain-cursor';
import { ForkDetected, WINDOW_BLOCKS } from '#indexer/reading/block-batch';
import { type Random, SEED, generator } from '../../support/random';
import { type PublishedRow, READ_ALL } from '../../support/events/outbox';
import {
  GENESIS,
  LOTTERY,
  NEW_LOTTERY,
  POOLS_CONTRACT,
  PaperChain,
  SAVER,
  type Sketch,
  Written,
  compact,
  paperId,
  randomEvents,
} from '../../support/chain/paper-chain';

const RUNS = Number(process.env.RUNS ?? 1);
const BLOCKS = 40;
const CONTRACTS = [POOLS_CONTRACT, LOTTERY, NEW_LOTTERY];

const POOLS = [paperId('a', 1), paperId('a', 2)];
const someEvents = (random: Random): Sketch[] => randomEvents(random, { pools: POOLS });

/** Reads contracts with the cursor or apart, as the indexer does. */
class Apart {
  readonly contracts: ContractWriter;
  constructor(
    readonly written: Written,
    private readonly chain: PaperChain,
  ) {
    this.contracts = new ContractWriter(written.client, written.writer);
  }

  private batch(chain: PaperChain, from: number, to: number, of: string[]) {
    const blocks = chain.blocks.slice(from + 1, to + 1);
    const events = blocks.flatMap((block) => block.events).filter(({ contract }) => of.includes(contract));
    return { to: chain.blocks[to], blocks: blocks.slice(-WINDOW_BLOCKS), events, contracts: of, counts: [] };
  }

  async names(): Promise<string[]> {
    return (await this.contracts.apart()).map(({ address }) => address);
  }

  /** Moves the cursor, with the events of the contracts that are not apart. */
  async follow(to: number, chain = this.chain, head = chain.head.number): Promise<void> {
    const { written } = this;
    const names = await this.names();
    const following = CONTRACTS.filter((each) => !names.includes(each));
    const batch = this.batch(chain, written.cursor.number, to, following);
    const { cursor } = await written.writer.apply(written.cursor, batch, { state: 'syncing', head });
    written.cursor = cursor;
  }

  async separate(address: string, at: number): Promise<void> {
    const block = this.chain.blocks[at];
    await this.contracts.setApart(this.written.cursor, address, block, 'quarantined', 'a test');
  }

  /** @returns whether it has joined */
  async catchUp(address: string, blocks: number, chain = this.chain): Promise<boolean> {
    const { cursor } = this.written;
    const apart = (await this.contracts.apart()).find((each) => each.address === address)!;
    const to = Math.min(apart.at.number + blocks, cursor.number);
    const batch = this.batch(chain, apart.at.number, to, [address]);
    const head = chain.head.number;
    return (await this.contracts.advance(cursor, head, apart, batch, true)).joined;
  }

  async allJoin(): Promise<void> {
    for (const address of await this.names()) while (!(await this.catchUp(address, 7)));
    // What had to wait for its confirmations meanwhile.
    await this.written.apply(this.chain, this.written.cursor.number);
  }
}

describe('contracts that are read apart', () => {
  const open = Written.use();

  async function start(chain: PaperChain, confirmations = 0): Promise<Written> {
    const written = await open(chain, confirmations);
    for (const [i, pool] of POOLS.entries())
      await written.addPool(pool, [
        { id: paperId('b', i), amount: '200', at: GENESIS },
        { id: paperId('c', i), amount: '300', at: GENESIS - 3000 },
      ]);
    return written;
  }

  it.each(Array.from({ length: RUNS }, (_, i) => (SEED + i) >>> 0))(
    'give the same rows as if they had never left, with forks and rewinds of one between (SEED=%i)',
    async (seed) => {
      const random = generator(seed);
      const confirmations = random(2) * 3;
      const chain = new PaperChain();
      while (chain.head.number < BLOCKS) chain.add(someEvents(random), random(400));
      const whole = await start(chain, confirmations);
      await whole.apply(chain);
      const written = await start(chain, confirmations);
      const apart = new Apart(written, chain);
      // One is late, as if it had been added with its history.
      await apart.separate(CONTRACTS[random(3)], 0);
      while (written.cursor.number < BLOCKS || random(4) > 0) {
        const { number } = written.cursor;
        const names = await apart.names();
        const one = names[random(names.length)];
        const todo = random(6);
        if (todo < 2) await apart.follow(Math.min(BLOCKS, number + 1 + random(5)));
        else if (todo === 2 && names.length < 3) {
          const address = CONTRACTS.filter((each) => !names.includes(each))[0];
          await apart.separate(address, number);
        } else if (todo === 3 && one) await apart.catchUp(one, 1 + random(9));
        else if (todo === 4 && one) {
          // A fork, followed with what is apart, then left for the chain.
          const fork = chain.fork(number);
          for (let i = 0; i < 3; i += 1) fork.add(someEvents(random), 5, 1 + random(1e9));
          await apart.follow(fork.head.number, fork);
          await apart.catchUp(one, 100, fork);
          await written.rewind(chain.blocks[Math.max(0, number - random(9))]);
        } else if (todo === 5) {
          const address = CONTRACTS[random(3)];
          const at = (await apart.contracts.apart()).find((each) => each.address === address)?.at.number;
          const block = chain.blocks[random(1 + (at ?? number))];
          await apart.contracts.takeBack(written.cursor, address, block, 'a test');
        }
      }
      await apart.allJoin();
      expect(await written.state()).toEqual(await whole.state());
    },
  );

  const OF_LOTTERY = { contract: LOTTERY, drawId: '1' };
  function known(): PaperChain {
    const chain = new PaperChain();
    const money = { poolId: compact(POOLS[0]), account: SAVER, amount: '200' };
    chain.add([
      { kind: 'DrawOpened', ...OF_LOTTERY, amount: '5', drawTime: GENESIS + 9 },
      { kind: 'Deposited', ...money },
    ]);
    chain.add([
      { kind: 'TicketsIssued', ...OF_LOTTERY, account: SAVER, amount: '3' },
      { kind: 'DrawOpened', contract: NEW_LOTTERY, drawId: '1', amount: '7', drawTime: GENESIS + 9 },
    ]);
    chain.add([
      { kind: 'Deposited', ...money },
      { kind: 'DrawClosed', ...OF_LOTTERY },
    ]);
    return chain;
  }

  it('taken back, leave every row of the others, and only what is theirs is told as reverted', async () => {
    const chain = known();
    const written = await start(chain);
    await written.apply(chain);
    const { draws, tickets, ...before } = await written.state();
    const told = (await written.sql<PublishedRow>(READ_ALL)).length;
    const apart = new Apart(written, chain);
    expect(await apart.contracts.takeBack(written.cursor, LOTTERY, chain.blocks[1], 'a test')).toBe(2);
    const { draws: fewer, tickets: none, ...after } = await written.state();
    expect(tickets).toHaveLength(1);
    expect(none).toEqual([]);
    expect(fewer).toMatchObject([{ status: 'ACTIVE', total_tickets: '0' }, (draws as unknown[])[1]]);
    const ofOthers = (before.events as { block_number: string; log_index: string }[]).filter(
      ({ block_number: block, log_index: log }) =>
        chain.blocks[Number(block)].events[Number(log)].contract !== LOTTERY || block === '1',
    );
    expect(after).toEqual({ ...before, events: ofOthers });
    const news = (await written.sql<PublishedRow>(READ_ALL)).slice(told);
    expect(JSON.stringify(news)).not.toContain(POOLS[0]);
    await apart.allJoin();
    expect(await written.state()).toEqual({ draws, tickets, ...before });
  });

  it('do not lose a deposit to its deadline while they are behind', async () => {
    const chain = known();
    const written = await start(chain);
    const apart = new Apart(written, chain);
    await apart.separate(POOLS_CONTRACT, 0);
    for (let i = 0; i < 3; i += 1) chain.add([], 3000);
    await apart.follow(chain.head.number);
    const states = (): Promise<unknown> =>
      written.sql('SELECT amount, status FROM transactions ORDER BY amount, status');
    expect(new Set(JSON.stringify(await states()).match(/PENDING|EXPIRED/g))).toEqual(new Set(['PENDING']));
    await apart.allJoin();
    expect(new Set(JSON.stringify(await states()).match(/PENDING|EXPIRED/g))).toEqual(new Set(['EXPIRED']));
  });

  it('are written by the leader only, and only on the branch of the ledger', async () => {
    const chain = known();
    const written = await start(chain);
    const apart = new Apart(written, chain);
    await apart.separate(LOTTERY, 0);
    await apart.follow(2);
    const before = await written.state();
    const [row] = await apart.contracts.apart();
    const batch = { to: chain.blocks[2], blocks: [], events: chain.blocks[2].events.slice(0, 1) };
    const advance = (cursor = written.cursor, to = batch.to, from = row): Promise<unknown> =>
      apart.contracts.advance(cursor, 3, from, { ...batch, to, contracts: [LOTTERY], counts: [] }, true);
    const former = { ...written.cursor, epoch: 1 };
    await expect(advance(former)).rejects.toThrow(LeadershipLost);
    for (const [cursor, to, from] of [
      [{ ...written.cursor, hash: chain.blocks[1].hash }],
      [written.cursor, { ...chain.blocks[1], hash: '0xother' }],
      [written.cursor, chain.blocks[3]],
      [written.cursor, batch.to, { ...row, at: chain.blocks[1] }],
    ] as Parameters<typeof advance>[])
      await expect(advance(cursor, to, from)).rejects.toThrow(ForkDetected);
    const takenBack = apart.contracts.takeBack(former, LOTTERY, chain.blocks[0], '');
    await expect(takenBack).rejects.toThrow(LeadershipLost);
    expect(await written.state()).toEqual(before);
    expect(await apart.contracts.apart()).toEqual([row]);
  });
});

import { LeadershipLost } from '#indexer/ledger/chain-cursor';
import { WINDOW_BLOCKS } from '#indexer/reading/block-batch';
import { MAX_PLACES } from '#indexer/reading/raw-chain';
import { type Random, SEED, generator } from '../support/random';
import {
  GENESIS,
  LOTTERY,
  OTHER,
  OTHER_CONTRACT,
  PaperChain,
  SAVER,
  type Sketch,
  Written,
  compact,
  paperId,
  randomEvents,
} from '../support/chain/paper-chain';

const RUNS = Number(process.env.RUNS ?? 1);
const BLOCKS = 40;

interface Announcement {
  pool: string;
  deposits: { id: string; amount: string; at: number; account: string }[];
}

/** Few pools, accounts and amounts, so that deposits compete for the same announcements. */
function announcements(random: Random): Announcement[] {
  let n = 0;
  return [0, 1, 2, 3].map((pool) => ({
    pool: paperId('a', pool),
    deposits: Array.from({ length: random(5) }, () => ({
      id: paperId('b', (n += 1)),
      amount: `${100 * (1 + random(3))}`,
      at: GENESIS - 3000 + random(9000),
      account: random(4) ? SAVER : OTHER,
    })),
  }));
}

/**
 * Where the contract does not number its events, there are withdrawals instead of draws. They may say what remains, and
 * their logs may be claims as well.
 */
function eventsOf({ isNumbered }: PaperChain, random: Random, pools: Announcement[]): Sketch[] {
  const sketches = randomEvents(random, {
    pools: pools.map(({ pool }) => pool),
    refs: pools.flatMap(({ deposits }) => deposits.map(({ id }) => id)),
    strange: true,
  });
  if (isNumbered) return sketches;
  const inPool = () => ({ poolId: compact(pools[random(pools.length)].pool) });
  return sketches.map((sketch) => {
    if (sketch.drawId === undefined) return sketch;
    const paid = { kind: 'Withdrawn', ...inPool(), account: SAVER, amount: `${1 + random(300)}` } as const;
    const claim = { ...paid, kind: 'YieldClaimed', amount: `${1 + random(9)}` } as const;
    const seconds = [undefined, claim, { ...claim, account: OTHER }, { ...claim, ...inPool() }];
    return { ...paid, remaining: [null, '0', '50'][random(3)], second: seconds[random(seconds.length)] };
  });
}

/** Ways in which a chain can reach the database. */
type Way = (written: Written, chain: PaperChain, pools: Announcement[], random: Random) => Promise<void>;

const addAll = async (written: Written, pools: Announcement[]): Promise<void> => {
  for (const { pool, deposits } of pools) await written.addPool(pool, deposits);
};
const rest = async (written: Written, chain: PaperChain): Promise<void> => {
  for (let i = 0; i < 2; i += 1) await written.apply(chain, written.cursor.number);
};

const WAYS: Record<string, Way> = {
  'block by block': async (written, chain, pools) => {
    await addAll(written, pools);
    for (let to = 1; to <= chain.head.number; to += 1) await written.apply(chain, to);
  },
  'at once': async (written, chain, pools) => {
    await addAll(written, pools);
    await written.apply(chain);
  },
  'at once, with pools that appear afterwards': async (written, chain, pools) => {
    await written.apply(chain);
    await addAll(written, pools);
    await rest(written, chain);
  },
  'in random batches, with reorganisations and pools that appear late': async (
    written,
    chain,
    pools,
    random,
  ) => {
    const late = [...pools];
    while (written.cursor.number < chain.head.number) {
      if (late.length > 0 && random(3) === 0) await addAll(written, late.splice(random(late.length), 1));
      const to = Math.min(chain.head.number, written.cursor.number + 1 + random(6));
      // Of blocks far below the head nothing is kept to undo them by.
      await written.apply(chain, to, random(2) ? chain.head.number : to + 2 * WINDOW_BLOCKS);
      if (random(5) === 0) await rest(written, chain);
      if (random(2)) continue;
      // A fork that is applied in one or two batches, then abandoned for the chain.
      const last = written.cursor.number;
      const fork = chain.fork(last);
      for (let i = 0; i < 1 + random(4); i += 1)
        fork.add(eventsOf(chain, random, pools), random(2500), 1 + random(1e9));
      await written.apply(fork, Math.min(fork.head.number, written.cursor.number + 1));
      await written.apply(fork);
      await written.rewind(chain.blocks[Math.max(0, last - random(12))]);
    }
    await addAll(written, late);
    await rest(written, chain);
  },
};

const open = Written.use();

describe('the same chain gives the same rows', () => {
  const seeds = Array.from({ length: RUNS }, (_, i) => (SEED + i) >>> 0);
  it.each(seeds.flatMap((seed) => [true, false].map((isNumbered) => ({ seed, isNumbered }))))(
    'however it is read (SEED=$seed, numbered: $isNumbered)',
    async ({ seed, isNumbered }) => {
      const random = generator(seed);
      const confirmations = random(2) * 3;
      const pools = announcements(random);
      const chain = new PaperChain(undefined, isNumbered);
      while (chain.head.number < BLOCKS) chain.add(eventsOf(chain, random, pools), random(400));
      let reference: unknown;
      for (const [name, way] of Object.entries(WAYS)) {
        const written = await open(chain, confirmations);
        await way(written, chain, pools, random);
        const state = await written.state();
        reference ??= state;
        expect({ name, state }).toEqual({ name, state: reference });
      }
    },
  );
});

describe('the last event of a vault', () => {
  it('is that of its last log, so that an event missed after a sale is still new', async () => {
    const chain = new PaperChain();
    const vault = {
      contract: OTHER_CONTRACT,
      poolName: SAVER,
      account: SAVER,
      poolId: compact(paperId('a', 1)),
    };
    const trade = (kind: 'SharesBought' | 'SharesSold', logIndex: number) =>
      ({ kind, ...vault, amount: '5000', shares: '5000', logIndex, seq: MAX_PLACES + logIndex }) as const;
    chain.add([trade('SharesBought', 3), trade('SharesSold', 4)]);
    const written = await open(chain);
    await written.apply(chain);
    expect(await written.column('SELECT count(*)::int FROM chain_events')).toEqual([3]);
    const last = await written.writer.lastEvents([OTHER_CONTRACT]);
    expect(last.get(OTHER_CONTRACT)).toEqual({ seq: MAX_PLACES + 4, block: 1 });
  });
});

describe('a block that is taken back', () => {
  it('writes the tickets of its accounts, and no others of the draw', async () => {
    const chain = new PaperChain();
    const draw = { contract: LOTTERY, drawId: '1' };
    const bought = (i: number) =>
      ({ kind: 'TicketsIssued', ...draw, account: `0x${`${i}`.padStart(40, '0')}`, amount: '2' }) as const;
    const opened = { kind: 'DrawOpened', ...draw, amount: '5', drawTime: GENESIS } as const;
    chain.add([opened, ...Array.from({ length: 50 }, (_, i) => bought(i))]);
    const written = await open(chain);
    await written.apply(chain);
    const before = await written.state();
    const versions = (): Promise<string[]> =>
      written.column(`SELECT concat_ws(' ', account, xmin, ctid) FROM lottery_tickets ORDER BY account`);
    const kept = await versions();
    chain.add([bought(7), bought(99)]);
    await written.apply(chain);
    await written.rewind(chain.blocks[1]);
    expect(await written.state()).toEqual(before);
    const left = await versions();
    expect(kept.filter((version) => !left.includes(version))).toEqual([kept[7]]);
  });
});

describe('a cursor that another process moved', () => {
  let written: Written;
  let chain: PaperChain;
  beforeEach(async () => {
    chain = new PaperChain();
    chain.add();
    written = await open(chain);
  });

  it.each([
    [
      'stands at another block',
      (): void => void (written.cursor = { ...chain.blocks[0], epoch: 0, applied: 0 }),
    ],
    ['has another epoch', (): void => void (written.cursor = { ...written.cursor, epoch: 1 })],
  ])('is left as it is when it %s', async (_, forget) => {
    await written.apply(chain);
    const before = await written.state();
    forget();
    // No event shows that a block was applied already.
    chain.add();
    await expect(written.apply(chain)).rejects.toThrow(LeadershipLost);
    await expect(written.rewind(chain.blocks[0])).rejects.toThrow(LeadershipLost);
    expect(await written.state()).toEqual(before);
  });
});

it('stores what receipts prove of a batch with it, in stretches, and removes it with its blocks', async () => {
  const chain = new PaperChain();
  for (let i = 0; i < 5; i += 1) chain.add();
  const written = await open(chain);
  const kept = (): Promise<string[]> =>
    written.column(`SELECT from_number || '-' || to_number FROM chain_proofs ORDER BY from_number`);
  const apply = async (to: number, ...proven: string[]): Promise<string[]> => {
    const batch = {
      to: chain.blocks[to],
      blocks: chain.blocks.slice(written.cursor.number + 1, to + 1),
      events: [],
    };
    const standing = { state: 'synced', head: to, byReceipts: new Set(proven) } as const;
    written.cursor = (await written.writer.apply(written.cursor, batch, standing)).cursor;
    return kept();
  };
  expect(await apply(2, OTHER_CONTRACT)).toEqual(['1-2']);
  expect(await apply(3, OTHER_CONTRACT)).toEqual(['1-3']);
  await apply(4);
  expect(await apply(5, OTHER_CONTRACT)).toEqual(['1-3', '5-5']);
  await written.rewind(chain.blocks[2]);
  expect(await kept()).toEqual(['1-2']);
});

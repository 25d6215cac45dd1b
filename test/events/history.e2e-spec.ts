import { Client } from 'pg';
import type { LedgerEvent } from '#ledger/outbox/ledger-event';
import { ContractWriter } from '#indexer/contracts/contract-writer';
import { urlAs } from '../support/database';
import { type PublishedRow, READ_ALL } from '../support/events/outbox';
import { OTHER_CONTRACT, PaperChain, SAVER, Written, compact } from '../support/chain/paper-chain';

const POOL = 'aaaaaaaa-0000-7000-8000-000000000001';
const LATE_POOL = 'aaaaaaaa-0000-7000-8000-000000000002';
const OTHERS_POOL = 'aaaaaaaa-0000-7000-8000-000000000003';
const HOUR = 3600;
/** Blocks, one an hour: thirty days. */
const HEAD = 720;
/** The first block that is younger than seven days. */
const RECENT = HEAD - 7 * 24 + 1;

const deposit = (poolId = POOL) =>
  ({
    kind: 'Deposited',
    poolId: compact(poolId),
    account: SAVER,
    amount: '10',
  }) as const;

const open = Written.use();

/** A chain with a deposit in each block, whose head is a minute old, or whose times are all `time`. */
async function begin({ time }: { time?: number } = {}): Promise<{ chain: PaperChain; to: Written }> {
  const head = Math.floor(Date.now() / 1000) - 60;
  const chain = new PaperChain([{ ...new PaperChain().head, time: time ?? head - HEAD * HOUR }]);
  for (let n = 0; n < HEAD; n++) chain.add([deposit()], time === undefined ? HOUR : 0);
  const to = await open(chain);
  await to.addPool(POOL);
  await to.sql('DELETE FROM outbox');
  return { chain, to };
}

const blocks = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, n) => `deposit.confirmed ${from + n}`);

/** What was published since the last call. */
async function news(to: Written): Promise<string[]> {
  const rows = await to.sql<PublishedRow>(READ_ALL);
  await to.sql('DELETE FROM outbox');
  return rows
    .flatMap(({ items }) => items)
    .map((event) => {
      const { topic, publishedFrom, blockNumber } = event as LedgerEvent & Record<string, unknown>;
      return [topic, publishedFrom ?? blockNumber].join(' ');
    });
}

it('announces blocks older than seven days by one reload, and publishes the events of others', async () => {
  const { chain, to } = await begin();
  await to.apply(chain, 200);
  // As after a restart.
  to.confirm(0);
  await to.apply(chain, 400);
  expect(await news(to)).toEqual([]);
  expect(await to.column('SELECT count(*)::int FROM transactions')).toEqual([400]);
  await to.apply(chain, 600);
  expect(await news(to)).toEqual(['reload 401', ...blocks(401, 600)]);
  await to.apply(chain);
  expect(await news(to)).toEqual(blocks(601, HEAD));
  expect(await to.column('SELECT published_from::int FROM chain_cursor')).toEqual([401]);
});

it('publishes everything of a short chain, and of one whose clock is ahead, or has stopped', async () => {
  for (const time of [0, 4_000_000_000]) {
    const { chain, to } = await begin({ time });
    if (time > 0) await to.apply(chain, 300);
    await to.apply(chain);
    expect(await news(to)).toEqual(blocks(1, HEAD));
    await to.apply((chain.add([deposit()], 0), chain));
    expect(await news(to)).toEqual(blocks(HEAD + 1, HEAD + 1));
  }
});

it('counts a block as passed when it takes effect', async () => {
  const { chain, to } = await begin();
  to.confirm(20);
  await to.apply(chain, 400);
  await to.apply(chain, 401 + 18, HEAD);
  await to.apply(chain, RECENT);
  expect(await news(to)).toEqual(['reload 420', ...blocks(420, RECENT - 20)]);
});

it('rewinds old blocks without events, and announces them again', async () => {
  const { chain, to } = await begin();
  await to.apply(chain, 300);
  await to.apply(chain);
  await news(to);
  await to.rewind(chain.blocks[100]);
  const reverted = await news(to);
  expect([reverted.at(0), reverted.at(-1)]).toEqual([
    `transaction.reverted ${HEAD}`,
    `transaction.reverted ${RECENT}`,
  ]);
  await to.apply(chain, 250);
  await to.apply(chain, 500);
  expect(await news(to)).toEqual([]);
  await to.apply(chain);
  expect(await news(to)).toEqual([`reload ${RECENT}`, ...blocks(RECENT, HEAD)]);
});

it('publishes what a reorganisation at the end of history reverts, and what comes instead', async () => {
  const { chain, to } = await begin();
  await to.apply(chain, 500);
  await to.apply(chain, 600);
  await news(to);
  const fork = chain.fork(498);
  for (let n = 0; n < 222; n++) fork.add(n % 2 ? [deposit()] : [], HOUR, 1);
  await to.rewind(fork.blocks[498]);
  expect(await news(to)).toEqual(
    blocks(RECENT, 600)
      .reverse()
      .map((each) => each.replace('deposit.confirmed', 'transaction.reverted')),
  );
  await to.apply(fork);
  const published = await news(to);
  expect([published[0], published.at(-1)]).toEqual([`reload ${RECENT}`, `deposit.confirmed ${HEAD}`]);
});

it('publishes old events of a pool that is created after history', async () => {
  const { chain, to } = await begin();
  chain.blocks[5].events[0].poolId = compact(LATE_POOL);
  await to.apply(chain, 500);
  await to.apply(chain);
  await news(to);
  await to.addPool(LATE_POOL);
  chain.add();
  await to.apply(chain);
  expect(await news(to)).toEqual([`pool.created `, 'deposit.confirmed 5']);
});

it('does not publish the history of a contract that is added later, but all events of the others', async () => {
  const { chain, to } = await begin();
  await to.apply(chain);
  await news(to);
  await to.sql(
    `INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update)
     SELECT $1, 'cooperative', id, $2, now(), now() FROM users WHERE address = $3`,
    [OTHERS_POOL, OTHER_CONTRACT, SAVER],
  );
  await news(to);
  const contracts = new ContractWriter(to.client, to.writer);
  await contracts.setApart(to.cursor, OTHER_CONTRACT, chain.blocks[0], 'catching_up', 'added');
  const advance = async (until: number): Promise<void> => {
    const [apart] = await contracts.apart();
    const events = chain.blocks.slice(apart.at.number + 1, until + 1).map((block, n) => ({
      ...block.events[0],
      contract: OTHER_CONTRACT,
      logIndex: 7,
      seq: n + 1 + apart.at.number,
      poolId: compact(OTHERS_POOL),
    }));

    const batch = {
      to: chain.blocks[until],
      blocks: [],
      events,
      contracts: [OTHER_CONTRACT],
      counts: [undefined],
    };
    await contracts.advance(to.cursor, to.cursor.number, apart, batch, false);
  };
  await advance(300);
  await to.apply((chain.add([deposit()], 60), chain));
  expect(await news(to)).toEqual(blocks(HEAD + 1, HEAD + 1));
  await advance(540);
  expect(await news(to)).toEqual([]);
  await advance(HEAD + 1);
  expect(await news(to)).toEqual([`reload ${RECENT}`, ...blocks(RECENT, HEAD + 1)]);
  // Taken back by hand, its old blocks are history once more.
  await contracts.takeBack(to.cursor, OTHER_CONTRACT, chain.blocks[100], 'by hand');
  expect((await news(to)).length).toBe(HEAD + 1 - RECENT + 1);
});

it('lets no role suppress events that may not move the cursor', async () => {
  const { to } = await begin();
  for (const [role, first] of [
    ['indexer', '7'],
    ['api', '0'],
  ] as const) {
    const client = new Client({ connectionString: urlAs(to.databaseUrl, role) });
    await client.connect();
    await client.query(`SET savings.published_from = 7`);
    const { rows } = await client.query('SELECT published_from()::text AS first').finally(() => client.end());
    expect([role, rows]).toEqual([role, [{ first }]]);
  }
});

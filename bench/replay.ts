import 'reflect-metadata';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import type { Client } from 'pg';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import { EventWriter } from '#indexer/ledger/event-writer';
import type { ChainEvent } from '#indexer/reading/decode';
import type { Block } from '#indexer/reading/raw-chain';
import { Replay } from '#indexer/replaying/replay';
import { withClient } from '#dev/postgres';
import { GENESIS, announce, newPools } from './chain';
import { BenchDatabase } from './database';
import { hash } from './generated-node';
import { say } from './output';

const USAGE = `npm run bench:replay -- [--events 1000000] [--kept]

  Replays a ledger of mixed events, twice, then takes half of it back on a copy; tells rate and CPU. --kept: the ledger that the last run has made.
`;
const SAVINGS = `0x${'c1'.repeat(20)}`;
const LOTTERY = `0x${'d1'.repeat(20)}`;
const OWNERS = Array.from({ length: 50 }, (_, i) => `0x${String(i).padStart(40, 'a')}`);
const PER_BLOCK = 100;
const BLOCKS_AT_ONCE = 80;
const DRAWS = 20;
const ETHER = 10n ** 18n;

const RULES = { confirmations: 0, pendingTtl: 10 ** 9, lotteries: new Set([LOTTERY]) };
const blockAt = (number: number): Block => ({
  number,
  hash: hash('b', number),
  parentHash: hash('b', number - 1),
  time: GENESIS + number * 12,
});

/** Of ten events six are deposits; the others are one of each. */
function eventAt(n: number, pools: string[]): Partial<ChainEvent> & Pick<ChainEvent, 'kind'> {
  const turn = Math.floor(n / pools.length);
  const account = OWNERS[(n + turn * 7) % 8];
  const of = { poolId: pools[n % pools.length].replaceAll('-', ''), account };
  const draw = { contract: LOTTERY, drawId: `${1 + (n % DRAWS)}` };
  if (n < DRAWS) return { kind: 'DrawOpened', ...draw, amount: '5', drawTime: GENESIS + 10 ** 8 };
  switch ((n + turn) % 10) {
    case 6:
      return { kind: 'Withdrawn', ...of, amount: `${1000 + n}` };
    case 7:
      return { kind: 'YieldAccrued', ...of, account: null, amount: `${10n ** 12n + BigInt(n)}`, aprBps: 500 };
    case 8:
      return { kind: 'YieldClaimed', ...of, amount: `${n}` };
    case 9:
      return { kind: 'TicketsIssued', ...draw, account, amount: '3' };
    default:
      return { kind: 'Deposited', ...of, amount: `${ETHER + BigInt(n)}` };
  }
}

/** What the indexer would have written of so many events. */
async function fill(client: Client, events: number): Promise<void> {
  const pools = newPools(OWNERS);
  await announce(client, SAVINGS, pools);
  await client.query(
    `INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, beat_at)
     VALUES (1, $1, 0, $1, to_timestamp($2::bigint), 0, now())`,
    [hash('b', 0), GENESIS],
  );
  await client.query(`INSERT INTO chain_contracts VALUES ('lottery', $1, 0, 0)`, [LOTTERY]);
  const ids = pools.map(({ id }) => id);
  const writer = new EventWriter(client, RULES);
  const seqs = new Map<string, number>();
  const head = Math.ceil(events / PER_BLOCK);
  let cursor: ChainCursor = { ...blockAt(0), epoch: 0, applied: 0 };
  while (cursor.number < head) {
    const to = Math.min(head, cursor.number + BLOCKS_AT_ONCE);
    const batch: ChainEvent[] = [];
    for (let number = cursor.number + 1; number <= to; number += 1)
      for (let logIndex = 0; logIndex < PER_BLOCK; logIndex += 1) {
        const n = (number - 1) * PER_BLOCK + logIndex;
        const event = eventAt(n, ids);
        const contract = event.contract ?? SAVINGS;
        const seq = (seqs.get(contract) ?? 0) + 1;
        seqs.set(contract, seq);
        const { hash: blockHash, time } = blockAt(number);
        const ofCircles = { circleId: null, collateral: null, period: null, place: null };
        const nothing = {
          ...ofCircles,
          poolId: null,
          poolName: null,
          fee: null,
          remaining: null,
          drawId: null,
          account: null,
          aprBps: null,
          drawTime: null,
          shares: null,
        };
        const place = { blockNumber: number, logIndex, blockHash, time, txHash: hash('a', n), contract, seq };
        batch.push({ ...nothing, amount: null, ref: null, ...place, ...event });
      }
    const last = blockAt(to);
    ({ cursor } = await writer.apply(
      cursor,
      { to: last, blocks: [last], events: batch },
      { state: 'syncing', head: head + 10_000 },
    ));
  }
  await client.query('VACUUM ANALYZE');
}

/** As the operator's `rewind --to` does it, in one transaction. */
async function rewindHalf(client: Client, database: BenchDatabase): Promise<void> {
  const { rows } = await client.query<{ number: number; hash: string; epoch: number; head: number }>(
    `SELECT block_number::int AS number, block_hash AS hash, epoch::int, head_number::int AS head FROM chain_cursor`,
  );
  const [{ number, hash: last, epoch }] = rows;
  const half = Math.floor(number / 2);
  const writer = new EventWriter(client, RULES);
  const cursor: ChainCursor = { ...blockAt(number), hash: last, epoch, applied: number };
  const before = { own: process.cpuUsage(), server: database.cpuUs() };
  const begun = performance.now();
  const { undone } = await writer.rewind(cursor, blockAt(half));
  const seconds = (performance.now() - begun) / 1000;
  const own = process.cpuUsage(before.own);
  const cpu = [own.user + own.system, database.cpuUs() - before.server].map((us) => us / 1e6);
  say(
    `rewind from block ${number} to ${half}: ${undone} events undone in ${seconds.toFixed(1)} s; ` +
      `CPU ${cpu[0].toFixed(1)} s here, ${cpu[1].toFixed(1)} s in PostgreSQL`,
  );
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '1000000' },
      kept: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return say(USAGE);
  const database = await BenchDatabase.start();
  try {
    const name = 'replay_ledger';
    const start = { own: process.cpuUsage(), server: database.cpuUs() };
    const url = values.kept
      ? database.urlOf(name)
      : await database.made(name, (client) => fill(client, Number(values.events)));
    if (!values.kept) {
      const own = process.cpuUsage(start.own);
      const cpu = [own.user + own.system, database.cpuUs() - start.server].map((us) => (us / 1e6).toFixed(1));
      say(`applied as the indexer does: CPU ${cpu[0]} s here, ${cpu[1]} s in PostgreSQL`);
    }
    await withClient(url, (client) => client.query('CHECKPOINT'));
    for (const round of [1, 2]) {
      const before = { own: process.cpuUsage(), server: database.cpuUs() };
      const { events, seconds, corrected, refused } = await new Replay(url, say).run();
      const own = process.cpuUsage(before.own);
      const cpu = [own.user + own.system, database.cpuUs() - before.server].map((us) => us / 1e6);
      const rate = (s: number): string => Math.round(events / s).toLocaleString('en');
      const changes = Object.values(corrected).reduce((sum, count) => sum + count, refused.length);
      say(
        `round ${round}: ${events} events, ${changes} corrections; ${rate(seconds)} a second in ${seconds.toFixed(1)} s; ` +
          `CPU ${cpu[0].toFixed(1)} s here, ${cpu[1].toFixed(1)} s in PostgreSQL`,
      );
    }
    const copy = await database.copy(url, 'replay_rewound');
    await withClient(`${copy}?application_name=indexer`, (client) => rewindHalf(client, database));
  } finally {
    await database.stop();
  }
}

main().then(
  () => process.exit(0),
  (error: Error) => {
    say(error.stack ?? error.message);
    process.exit(1);
  },
);

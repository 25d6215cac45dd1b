import 'reflect-metadata';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { createPublicClient, http } from 'viem';
import { TYPE_WITH_DRAWS } from '#values/types';
import { ReferencePool } from '#ledger/adapters/reference/reference-pool';
import { contractAbi } from '#ledger/chain/contract.abi';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { loadEnvironment } from '#settings/environment';
import { adapterOf } from '#indexer/adapters/adapter';
import { adaptersByAddress } from '#indexer/adapters/contract-adapters';
import { decoderOf } from '#indexer/adapters/decoder';
import { openCursor } from '#indexer/agreement/chain-identity';
import { connect } from '#indexer/leading/leader';
import { EventWriter } from '#indexer/ledger/event-writer';
import { Rpc } from '#indexer/reading/rpc';
import type { BlockBatch } from '#indexer/reading/block-batch';
import { Source } from '#indexer/reading/source';
import { withClient } from '#dev/postgres';
import { BenchChain, GENESIS, announce, newPools } from './chain';
import { BenchDatabase } from './database';
import { median } from './drive';
import { GeneratedNode } from './generated-node';
import { follow } from './indexer-process';
import { Progress, keep, publish, say } from './output';
import { CONTRACT, POOL_CONTRACTS } from './peers';
import { type IndexerResults, type Rates, type Sample, curveTable, indexerTables } from './tables';

const USAGE = `npm run bench:indexer -- [--curve 10000000 [--empty]]

  Compares the indexer with viem alone and with the apply step alone, then watches it over a million events. --curve:
  only watches it, over so many events: rate, CPU, memory and size on disk. --empty: with no pools in the database, as
  at a first start; events wait for their pools then.
`;
const EVENTS = 100_000;
const ROUNDS = 3;
/** Watched beside the comparison. */
const MANY = 1_000_000;
const PER_BLOCK = 100;
const SAMPLES = 10;
/** The last samples may exceed the second to fourth by this factor. */
const FLAT = 1.15;

const decoded = contractAbi.filter((item) => item.type === 'event');

/** The ways of going through the same chain: events a second, by three measures in turn. */
async function compare(
  database: BenchDatabase,
  chain: BenchChain,
  events: number,
  progress: Progress,
): Promise<Rates[]> {
  const empty = await database.made('indexer_empty', (client) =>
    announce(client, chain.deployment.contracts.cooperative, chain.pools),
  );
  const environment = loadEnvironment({ DATABASE_URL: empty, ...chain.settings() }, 'indexer');
  const client = createPublicClient({ transport: http(chain.node.url) });
  const reference = adapterOf(new ReferencePool())!;
  const source = new Source(
    new Rpc(rpcEndpoints(chain.node.url)[0]),
    [...environment.POOL_CONTRACTS.values()].flat(),
    decoderOf(adaptersByAddress(environment.POOL_CONTRACTS, [reference])),
  );
  const head = Number(await client.getBlockNumber());
  const start = environment.START_BLOCK.first(source.contracts);
  const batches: BlockBatch[] = [];
  const [before] = await source.blocks([start - 1]);
  for (let after = before!; after.number < head; after = batches.at(-1)!.to)
    batches.push(await source.read(after, head));

  const measures: Record<keyof Rates, () => Promise<number>> = {
    viem: async () => {
      const begun = performance.now();
      let found = 0;
      let fromBlock = BigInt(start);
      for (const { to } of batches) {
        const toBlock = BigInt(to.number);
        const logs = await client.getLogs({
          address: source.contracts as `0x`[],
          events: decoded,
          strict: true,
          fromBlock,
          toBlock,
        });
        found += logs.length;
        fromBlock = toBlock + 1n;
      }
      if (found !== events) throw new Error(`viem found ${found} events`);
      return (performance.now() - begun) / 1000;
    },
    apply: async () => {
      const connection = await connect(await database.copy(empty, 'indexer_apply'));
      try {
        const writer = new EventWriter(connection, {
          confirmations: 0,
          pendingTtl: 86_400,
          lotteries: new Set(environment.POOL_CONTRACTS.get(TYPE_WITH_DRAWS)),
        });
        const [chainId] = await source.rpc.batch<[string]>([['eth_chainId', []]]);
        const identity = { chainId: Number(chainId), genesis: '' };
        let cursor = await openCursor(connection, writer, { identity }, source, environment);
        const begun = performance.now();
        for (const batch of batches)
          ({ cursor } = await writer.apply(cursor, batch, { state: 'syncing', head, proven: true }));
        return (performance.now() - begun) / 1000;
      } finally {
        await connection.end();
      }
    },
    indexer: async () => {
      const url = await database.copy(empty, 'indexer_whole');
      const seconds = await follow(url, chain.settings(), head);
      const [{ applied }] = await withClient(
        url,
        async (connection) =>
          (
            await connection.query<{ applied: number }>(
              `SELECT count(*)::int AS applied FROM chain_events WHERE outcome = 'APPLIED'`,
            )
          ).rows,
      );
      if (applied !== events) throw new Error(`the indexer applied ${applied} of ${events} events`);
      return seconds;
    },
  };
  const names = Object.keys(measures) as (keyof Rates)[];
  const rounds: Rates[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const rates: Rates = { viem: 0, apply: 0, indexer: 0 };
    for (const name of round % 2 ? [...names].reverse() : names) {
      rates[name] = Math.round(events / (await measures[name]()));
      await database.quiet();
      progress.step(`round ${round + 1}: ${name}`, EVENTS / 10);
    }
    rounds.push(rates);
  }
  return rounds;
}

/** What the indexer costs while it reads many events. */
async function watch(
  database: BenchDatabase,
  many: number,
  progress: Progress,
  isEmpty = false,
): Promise<Sample[]> {
  const pools = newPools(Array.from({ length: 10 }, (_, i) => `0x${i}${'d'.repeat(39)}`));
  const node = await new GeneratedNode(CONTRACT, pools, PER_BLOCK, many / PER_BLOCK, GENESIS).start();
  try {
    const url = await database.made('indexer_many', (client) =>
      announce(client, CONTRACT, isEmpty ? [] : pools),
    );
    const samples: Sample[] = [];
    let done = 0;
    const begun = { at: performance.now(), postgres: database.cpuUs() };
    await follow(url, { RPC_URL: node.url, POOL_CONTRACTS }, node.head, async (block, usage) => {
      progress.step('many events', ((block - done) * PER_BLOCK) / 10);
      done = block;
      const events = block * PER_BLOCK;
      if (events < ((samples.length + 1) * many) / SAMPLES) return;
      samples.push({
        events,
        seconds: (performance.now() - begun.at) / 1000,
        postgres: database.cpuUs() - begun.postgres,
        size: await database.sizeOf(url),
        ...(await usage()),
      });
    });
    return samples;
  } finally {
    node.stop();
  }
}

/** What the rate of the indexer must be at least, divided by that of the other. */
const AT_LEAST = { viem: 1.3, apply: 0.75 };

function report({ rounds, samples }: IndexerResults): void {
  const [viem, apply, indexer] = (['viem', 'apply', 'indexer'] as const).map((name) =>
    median(rounds.map((round) => round[name])),
  );
  say(
    `The indexer reaches ${(indexer / viem).toFixed(2)} of viem (at least ${AT_LEAST.viem}), and ` +
      `${(indexer / apply).toFixed(2)} of the apply step (at least ${AT_LEAST.apply}).`,
  );
  const [early, late] = [samples.slice(1, 4), samples.slice(-3)].map((part) =>
    median(part.map(({ rss }) => rss)),
  );
  say(`RSS ${early.toFixed(0)}, then ${late.toFixed(0)} MiB: ${late <= early * FLAT ? 'flat' : 'GREW'}`);
}

/** Writes results-indexer.json, unless only the curve is asked for. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { curve: { type: 'string' }, empty: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) return say(USAGE);
  const database = await BenchDatabase.start();
  let chain: BenchChain | undefined;
  try {
    if (values.curve) {
      const many = Number(values.curve);
      const progress = new Progress('Indexer', many / 10);
      console.log(curveTable(await watch(database, many, progress, values.empty)));
      return progress.end();
    }
    const progress = new Progress('Indexer', EVENTS + (EVENTS / 10) * 3 * ROUNDS + MANY / 10);
    chain = await BenchChain.start();
    const events = await chain.emit(EVENTS, progress);
    const results: IndexerResults = { rounds: await compare(database, chain, events, progress), samples: [] };
    keep('results-indexer.json', results);
    await chain.node.stop();
    results.samples = await watch(database, MANY, progress);
    progress.end();
    keep('results-indexer.json', results);
    console.log(indexerTables(results));
    report(results);
    publish('results-indexer.json');
  } finally {
    await chain?.node.stop();
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

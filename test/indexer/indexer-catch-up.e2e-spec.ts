import { Logger } from '@nestjs/common';
import type { Reading, RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { SequenceCheck, SequenceGap } from '#indexer/agreement/sequence-check';
import { Contracts } from '#indexer/contracts/contracts';
import { ContractWriter, type Ledger } from '#indexer/contracts/contract-writer';
import { ForkDetected, NodeBehind, type Plan } from '#indexer/reading/block-batch';
import type { ChainEvent } from '#indexer/reading/decode';
import { BlockProof } from '#indexer/proving/block-proof';
import type { Block } from '#indexer/reading/raw-chain';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import type { IndexerSettings } from '#settings/indexer.settings';
import { StartBlocks } from '#settings/start-blocks';
import { LOTTERY, POOLS_CONTRACT, PaperChain, SAVER, Written } from '../support/chain/paper-chain';
import { decoderFor } from '../support/chain/adapters';
import type { ContractAdapters } from '#indexer/adapters/contract-adapters';

const START = 1;
const QUARANTINE_S = 60;
/** The event that the node leaves out, by its number. */
const MISSING = 3;

/** Contracts are read by what is left to the leader's loop, from a node without old states whose logs may be wrong. */
describe('a contract that catches up', () => {
  let chain: PaperChain;
  let written: Written;
  let ledger: Ledger;
  let contracts: Contracts;
  let now = 0;
  let shows: (event: ChainEvent) => ChainEvent | undefined;
  let readWith: () => Promise<void>;
  const accused: unknown[] = [];

  beforeAll(() => Logger.overrideLogger(false));
  beforeEach(async () => {
    now = 1_000_000;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    shows = (event) => event;
    readWith = () => Promise.resolve();
    accused.length = 0;
    chain = new PaperChain();
    for (let n = 0; n < 40; n += 1)
      chain.add(
        n % 5 === 0
          ? [
              { kind: 'DrawOpened', contract: LOTTERY, drawId: `${n}`, amount: '5', drawTime: 1_800_000_000 },
              { kind: 'Deposited', poolId: 'a'.repeat(32), account: SAVER, amount: '100' },
            ]
          : [],
      );
    written = await new Written().start(chain);
    ledger = { writer: written.writer, contracts: new ContractWriter(written.client, written.writer) };
    const reader = {
      about: () => ({ range: { shrink: () => undefined } }),
      source: {
        blocks: (numbers: number[]) => Promise.resolve(numbers.map((number) => chain.blocks[number])),
      },
    } as unknown as WatchedEndpoint;
    const endpoints = {
      contracts: [POOLS_CONTRACT, LOTTERY],
      absolve: () => undefined,
      contradictsItself: (each: unknown) => accused.push(each),
      readerAside: () => reader,
      judge: ({ batch }: Reading) => batch,
      plan: ({ number }: Block, upTo: number) => ({ to: Math.min(number + 6, upTo) }),
      async read(after: Block, plan: Plan, contracts: string[]): Promise<Reading> {
        await readWith();
        if (chain.blocks[after.number].hash !== after.hash) throw new ForkDetected('another branch');
        const to = chain.blocks[plan.to];
        const blocks = chain.blocks.slice(after.number + 1, to.number + 1);
        const events = blocks
          .flatMap((block) => block.events)
          .filter(({ contract }) => contracts.includes(contract))
          .flatMap((event) => shows(event) ?? []);
        return {
          reader,
          batch: { to, blocks, events, contracts, counts: [undefined] },
          testimonies: [],
          isAside: true,
          asked: 0,
          marks: {},
        };
      },
    } as unknown as RpcEndpoints;
    const settings = { QUARANTINE_AFTER: QUARANTINE_S } as IndexerSettings;
    const telemetry = { took: () => undefined } as never;
    contracts = new Contracts(
      endpoints,
      new SequenceCheck(endpoints.contracts, new StartBlocks(START)),
      settings,
      telemetry,
      new BlockProof(endpoints, settings, {
        decode: decoderFor(endpoints.contracts),
        of: () => undefined,
      } as unknown as ContractAdapters),
    );
    await contracts.open(ledger);
    // The others are at the head.
    const others = new PaperChain(
      chain.blocks.map((block) => ({
        ...block,
        events: block.events.filter(({ contract }) => contract !== LOTTERY),
      })),
    );
    await written.apply(others);
    await ledger.contracts.setApart(written.cursor, LOTTERY, chain.blocks[0], 'catching_up', 'late');
    await contracts.open(ledger);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await written.stop();
  });

  const state = (): [string, string] | undefined => {
    const apart = contracts.apart.get(LOTTERY);
    return apart && [apart.state, apart.reason];
  };
  const numbers = (): Promise<number[]> =>
    written.column('SELECT seq::int FROM chain_events WHERE contract = $1 ORDER BY 1', [LOTTERY]);
  /** Each a while after the one before. */
  async function turns(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      now += 20_000;
      await contracts.turn(written.cursor, chain.head.number);
      await Promise.all(contracts.underWay);
    }
  }
  const ALL = [1, 2, 3, 4, 5, 6, 7, 8];
  /** Once the node shows all events. */
  async function rejoins(): Promise<void> {
    shows = (event) => event;
    await turns(60);
    expect(state()).toBeUndefined();
    expect(await numbers()).toEqual(ALL);
  }

  it('reads again from its last event when one was left out before, as nothing told so then', async () => {
    shows = (event) => (event.contract === LOTTERY && event.seq >= MISSING ? undefined : event);
    // Past the blocks of the third event, and of the fourth.
    await turns(3);
    shows = (event) => (event.seq === MISSING && event.contract === LOTTERY ? undefined : event);
    await turns(30);
    expect(await numbers()).toEqual([1, 2]);
    expect(state()).toEqual(['quarantined', expect.stringContaining('left out')]);
    await rejoins();
  });

  it('is quarantined for what the database refuses, and the others go on', async () => {
    // The place of an event of another contract.
    shows = (event) =>
      event.contract === LOTTERY && event.seq === MISSING ? { ...event, logIndex: 1 } : event;
    await turns(30);
    expect(state()).toEqual(['quarantined', expect.stringContaining('duplicate key')]);
    expect(await numbers()).toEqual([1, 2]);
    await rejoins();
  });

  it('is not quarantined for an endpoint that fails', async () => {
    readWith = () => Promise.reject(new NodeBehind('the node is behind'));
    await turns(30);
    expect(state()).toEqual(['catching_up', 'late']);
    readWith = () => Promise.resolve();
    await turns(60);
    expect(state()).toBeUndefined();
  });

  it('does not hold up the others when an endpoint hangs', async () => {
    await turns(5);
    let answer!: () => void;
    readWith = () => new Promise((resolve) => (answer = resolve));
    now += 20_000;
    for (let i = 0; i < 3; i += 1)
      expect(await contracts.turn(written.cursor, chain.head.number)).toBe(false);
    answer();
    readWith = () => Promise.resolve();
    await Promise.all(contracts.underWay);
    await turns(20);
    expect(await numbers()).toEqual(ALL);
  });

  it('begins at the start if it came as one without events, and had some', async () => {
    await written.sql('DELETE FROM chain_contracts_apart');
    await written.sql('UPDATE chain_cursor SET proven_number = block_number');
    await contracts.open(ledger);
    const gap = new SequenceGap(LOTTERY, 0, 9);
    const reader = contracts['endpoints'].readerAside(0);
    for (let i = 0; i < 4 && !contracts.apart.has(LOTTERY); i += 1) {
      now += 30_000;
      await contracts.broken(written.cursor, reader, gap);
    }
    expect(accused).not.toEqual([]);
    expect(contracts.apart.get(LOTTERY)?.at.number).toBe(START - 1);
    await turns(20);
    // It waits until the cursor has passed what broke it.
    expect(await numbers()).toEqual([]);
    chain.add();
    await written.apply(chain);
    await turns(20);
    expect(state()).toBeUndefined();
    expect(await numbers()).toEqual(ALL);
  });
});

import { Logger } from '@nestjs/common';
import type { IndexerSettings } from '#settings/indexer.settings';
import type { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { type SequenceCheck, SequenceFall, SequenceGap } from '#indexer/agreement/sequence-check';
import { UnreadableEvents } from '#indexer/reading/block-batch';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import type { BlockProof } from '#indexer/proving/block-proof';
import type { Block } from '#indexer/reading/raw-chain';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import type { IndexerTelemetry } from '#indexer/reporting/telemetry';
import type { ApartState } from './contract-writer';
import { Contracts } from './contracts';

beforeAll(() => Logger.overrideLogger(false));

const nothing = (): void => undefined;

it.each([
  [1, 'wrong numbers', []],
  [2, 'wrong numbers', ['one quarantined']],
  [1, 'unreadable events', ['one quarantined']],
  [1, 'a gap in proven blocks', []],
  [2, 'a gap in proven blocks', ['one quarantined']],
  // The ledger may lack the event.
  [1, 'a gap', ['one catching_up']],
] as const)(
  'of %i contracts whose first has %s for long, these are detached: %j',
  async (count, trouble, expected) => {
    const contracts = ['one', 'two'].slice(0, count);
    const detached = new Set<string>();
    const sequence = {
      load: nothing,
      isProven: () => trouble !== 'a gap',
      lastOf: () => ({ seq: 1, block: 1 }),
    } as unknown as SequenceCheck;
    const states = new Contracts(
      { contracts, absolve: nothing, failed: nothing, contradictsItself: nothing } as unknown as RpcEndpoints,
      sequence,
      { QUARANTINE_AFTER: 0 } as IndexerSettings,
      {} as IndexerTelemetry,
      {} as BlockProof,
    );
    const ledger = {
      contracts: {
        setApart: (_: ChainCursor, address: string, _at: Block, state: ApartState) =>
          detached.add(`${address} ${state}`),
        apart: () => [],
      },
      writer: { eventBlock: nothing },
    } as unknown as Parameters<Contracts['open']>[0];
    const troubles = {
      'wrong numbers': new SequenceFall('one', 'fewer events'),
      'unreadable events': new UnreadableEvents('one', 'another layout'),
      'a gap': new SequenceGap('one', 1, 3),
      'a gap in proven blocks': new SequenceGap('one', 1, 3),
    };
    const reader = {
      source: { blocks: () => Promise.resolve([{ number: 0 }]) },
    } as unknown as WatchedEndpoint;
    await states.open(ledger);
    for (let i = 0; i < 10 && detached.size === 0; i += 1)
      await states.broken({ number: 9 } as ChainCursor, reader, troubles[trouble]);
    expect([...detached]).toEqual(expected);
  },
);

import { Logger } from '@nestjs/common';
import type { IndexerSettings } from '#settings/indexer.settings';
import type { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { type SequenceCheck, SequenceFall } from '#indexer/agreement/sequence-check';
import { UnreadableEvents } from '#indexer/reading/block-batch';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import type { BlockProof } from '#indexer/proving/block-proof';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import type { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { Contracts } from './contracts';

beforeAll(() => Logger.overrideLogger(false));

const nothing = (): void => undefined;

it.each([
  [1, 'wrong numbers', []],
  [2, 'wrong numbers', ['one']],
  [1, 'unreadable events', ['one']],
] as const)(
  'of %i contracts whose first has %s for long, these are quarantined: %j',
  async (count, trouble, expected) => {
    const contracts = ['one', 'two'].slice(0, count);
    const quarantined = new Set<string>();
    const sequence = {
      load: nothing,
      isProven: () => true,
      lastOf: () => ({ seq: 1, block: 1 }),
    } as unknown as SequenceCheck;
    const states = new Contracts(
      { contracts, absolve: nothing, failed: nothing } as unknown as RpcEndpoints,
      sequence,
      { QUARANTINE_AFTER: 0 } as IndexerSettings,
      {} as IndexerTelemetry,
      {} as BlockProof,
    );
    const ledger = {
      contracts: {
        setApart: (_: ChainCursor, address: string) => quarantined.add(address),
        apart: () => [],
      },
    } as unknown as Parameters<Contracts['open']>[0];
    await states.open(ledger);
    for (let i = 0; i < 10 && quarantined.size === 0; i += 1)
      await states.broken(
        { number: 9 } as ChainCursor,
        {} as WatchedEndpoint,
        trouble === 'wrong numbers'
          ? new SequenceFall('one', 'fewer events')
          : new UnreadableEvents('one', 'another layout'),
      );
    expect([...quarantined]).toEqual(expected);
  },
);

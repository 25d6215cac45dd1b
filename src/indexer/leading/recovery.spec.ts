import { Logger } from '@nestjs/common';
import type { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import type { SequenceCheck } from '#indexer/agreement/sequence-check';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import type { EventWriter } from '#indexer/ledger/event-writer';
import { NodeBehind } from '#indexer/reading/block-batch';
import type { Block } from '#indexer/reading/raw-chain';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import type { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { Halted, Recovery } from './recovery';

const block = (number: number, branch = 'a', parent = branch): Block => ({
  number,
  hash: `${branch}${number}`,
  parentHash: `${parent}${number - 1}`,
  time: number,
});

/** The ledger has blocks 1 to 9 of branch a. */
const OURS = [9, 8, 7, 6, 5, 4, 3, 2, 1].map((number) => block(number));

/** @returns the block to which the indexer goes back */
async function followFork(
  theirs: (number: number) => Block | undefined,
  finalized?: number,
): Promise<number> {
  const nothing = (): void => undefined;
  const writer = {
    blocks: { newest: () => Promise.resolve(OURS) },
    rewind: (_: ChainCursor, { number }: Block) => Promise.resolve({ cursor: { number }, undone: 1 }),
  };
  const recovery = new Recovery(
    { confirmFork: nothing } as unknown as RpcEndpoints,
    { load: nothing } as unknown as SequenceCheck,
    {
      reorgs: { inc: nothing },
      reorgDepth: { observe: nothing },
      undone: { inc: nothing },
    } as unknown as IndexerTelemetry,
  );
  const source = { blocks: (numbers: number[]) => Promise.resolve(numbers.map(theirs)) };
  const cursor = { number: 9, hash: 'a9', finalized } as ChainCursor;
  const reader = { source } as unknown as WatchedEndpoint;
  return (await recovery.followFork(writer as unknown as EventWriter, cursor, reader)).number;
}

beforeAll(() => Logger.overrideLogger(false));

describe('a fork', () => {
  it('undoes nothing while no block is in the place of ours', async () => {
    await expect(followFork((n) => (n > 6 ? undefined : block(n)))).rejects.toThrow(NodeBehind);
  });

  it('undoes nothing if the block in the place of ours is not linked to the last common one', async () => {
    await expect(followFork((n) => (n > 6 ? block(n, 'b') : block(n)))).rejects.toThrow(NodeBehind);
  });

  it('leads back to the last block of both chains, and halts if that would undo a final block', async () => {
    const theirs = (n: number): Block => (n > 6 ? block(n, 'b', n === 7 ? 'a' : 'b') : block(n));
    for (const finalized of [undefined, 6]) expect(await followFork(theirs, finalized)).toBe(6);
    await expect(followFork(theirs, 7)).rejects.toThrow(Halted);
  });
});

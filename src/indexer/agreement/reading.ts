import { type BlockBatch, type Plan } from '#indexer/reading/block-batch';
import type { Marks } from '#indexer/reading/finality';
import { type Block, MalformedAnswer } from '#indexer/reading/raw-chain';
import { RetryableChainError } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { type Testimony, compared, testify } from './cross-check';

/** A batch that one endpoint read, and what the others say about the same blocks. */
export interface Reading {
  reader: WatchedEndpoint;
  batch: BlockBatch;
  testimonies: Testimony[];
  /** Read for a contract apart. What endpoints say of old blocks is not held against them at the head. */
  isAside: boolean;
  /** When it was begun: it may have been read long before it is judged. */
  asked: number;
  /** What was safe and final then. */
  marks: Marks;
  /** Contracts of which the batch is proven to have all events, and no others. */
  proven?: ReadonlySet<string>;
}

/** Who reads some contracts, and who is asked for the same. */
export interface Readers {
  reader: WatchedEndpoint;
  isAside: boolean;
  contracts: string[];
  /** Enough for a majority together with the reader. */
  first: WatchedEndpoint[];
  /** Those who are asked only if these disagree. */
  rest: () => WatchedEndpoint[];
  marks: Marks;
  /** From this block on all headers are read; undefined for a contract apart, whose headers are not stored. */
  finalized?: number;
}

/** The next range: no larger than those who are asked at first can read at once, nor than `most` blocks. */
export function planFor(
  { reader, contracts, first, finalized }: Readers,
  after: Pick<Block, 'number'>,
  upTo: number,
  most: number,
): Plan {
  const theirs = first.map((each) => each.about(contracts).mostBlocks);
  return reader.about(contracts).plan(after, upTo, { most: Math.min(most, ...theirs), finalized });
}

/** Reads the next batch from the reader and, at the same time, from the others. @throws as Source.read */
export async function readWith(readers: Readers, after: Block, upTo: number, most: number): Promise<Reading> {
  const { reader, isAside, contracts, first, rest, finalized, marks } = readers;
  const hear = (some: WatchedEndpoint[], plan: Plan): Promise<Testimony[]> =>
    Promise.all(
      some.map((each) =>
        testify(
          each,
          () => each.about(contracts).readTo(after, plan),
          (batch) => ({ stance: 'agrees', batch }),
          !isAside,
        ),
      ),
    );
  const asked = Date.now();
  const plan = planFor(readers, after, upTo, most);
  const early = hear(first, plan);
  const batch = await usable(
    reader.about(contracts).read(after, upTo, { most: plan.to - after.number, finalized }),
  );
  const actual = { ...plan, to: batch.to.number };
  const heard = await (actual.to === plan.to ? early : hear(first, actual));
  if (compared(heard, batch).some(({ stance }) => stance !== 'agrees'))
    heard.push(...(await hear(rest(), actual)));
  return { reader, batch, testimonies: compared(heard, batch), isAside, asked, marks };
}

/** Nothing but what the endpoint sent can make reading fail. @throws RetryableChainError */
async function usable<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof RetryableChainError) throw error;
    throw new MalformedAnswer(`an unusable answer: ${(error as Error).message}`, { cause: error });
  }
}

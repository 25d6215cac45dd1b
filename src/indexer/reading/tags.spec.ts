import type { Confirmations } from '#settings/indexer.settings';
import { Refused, RpcNode } from '../../../test/support/chain/rpc-node';
import { Rpc } from './rpc';
import { TagReader } from './tags';

const block = (number: number): object => ({
  number: `0x${number.toString(16)}`,
  hash: `0x${`${number}`.padStart(64, '0')}`,
  parentHash: `0x${'0'.repeat(64)}`,
  timestamp: '0x0',
});

describe('the tags of a node', () => {
  let node: RpcNode;
  /** Answers by tag. */
  let says: Record<string, unknown>;
  beforeEach(async () => {
    says = { latest: block(100), safe: block(90), finalized: block(80) };
    node = await RpcNode.start((_, [tag]) => says[tag as string]);
  });
  afterEach(() => node.stop());
  const reader = (confirmations: Confirmations = 'safe'): TagReader =>
    new TagReader(new Rpc({ url: node.url, headers: {}, name: 'node' }), confirmations);
  const numbers = ({ tagged }: TagReader): unknown => ({
    safe: tagged.safe?.number,
    finalized: tagged.finalized?.number,
  });

  it('come with its head, in one request, and not with each', async () => {
    const tags = reader();
    expect((await tags.head())?.number).toBe(100);
    expect(numbers(tags)).toEqual({ safe: 90, finalized: 80 });
    await tags.head();
    expect(node.sizes).toEqual([3, 1]);
  });

  it.each([
    ['refused', new Refused('invalid block number')],
    ['null', null],
    ['no block', { number: 'finalized' }],
    ['beyond its head', block(101)],
  ])('say nothing when they are %s, and its head counts', async (_, answer) => {
    says.safe = says.finalized = answer;
    const tags = reader();
    expect((await tags.head())?.number).toBe(100);
    expect(numbers(tags)).toEqual({ safe: undefined, finalized: undefined });
  });

  it.each([
    ['counts when the operator configured tags', 'finalized' as const, 100],
    ['is ignored otherwise', 0, undefined],
  ])('on its head: %s', async (_, confirmations, expected) => {
    says.finalized = block(100);
    const tags = reader(confirmations);
    await tags.head();
    expect(numbers(tags)).toEqual({ safe: undefined, finalized: expected });
  });

  it('stay what they were when it says no more', async () => {
    jest.spyOn(performance, 'now').mockReturnValue(1e9);
    const tags = reader();
    await tags.head();
    says = { latest: block(110) };
    for (const passed of [3_000, 6_000]) {
      jest.spyOn(performance, 'now').mockReturnValue(1e9 + passed);
      expect((await tags.head())?.number).toBe(110);
    }
    jest.restoreAllMocks();
    // Perhaps only one of the nodes behind a balancer has no tags.
    expect(node.sizes).toEqual([3, 3, 3]);
    expect(numbers(tags)).toEqual({ safe: 90, finalized: 80 });
  });

  it('are asked for once a minute until it has some', async () => {
    says.safe = says.finalized = null;
    const now = jest.spyOn(performance, 'now').mockReturnValue(1e9);
    const tags = reader();
    for (const passed of [0, 3_000, 61_000]) {
      now.mockReturnValue(1e9 + passed);
      await tags.head();
    }
    says.finalized = block(80);
    for (const passed of [122_000, 125_000]) {
      now.mockReturnValue(1e9 + passed);
      await tags.head();
    }
    jest.restoreAllMocks();
    expect(node.sizes).toEqual([3, 1, 3, 3, 3]);
    expect(numbers(tags)).toEqual({ safe: undefined, finalized: 80 });
  });

  it('are asked for again when the node fails without them, too', async () => {
    const answer = node.target;
    node.target = () => {
      throw new Error('the node is gone');
    };
    const tags = reader();
    for (let i = 0; i < 2; i += 1) await expect(tags.head(0)).rejects.toThrow();
    node.target = answer;
    await tags.head();
    expect(numbers(tags)).toEqual({ safe: 90, finalized: 80 });
  });

  it('are left out for long after a request with them failed', async () => {
    node.target = (_, [tag]) => {
      if (tag !== 'latest') throw new Error('the whole request is lost');
      return says.latest;
    };
    const tags = reader();
    await expect(tags.head(0)).rejects.toThrow();
    expect((await tags.head(0))?.number).toBe(100);
    expect(numbers(tags)).toEqual({ safe: undefined, finalized: undefined });
  });
});

import { type Block, MalformedAnswer } from './raw-chain';
import { NodeBehind, linkBlocks, ownLogs, timesOf } from './block-batch';
import type { RawLog } from './decode';

const block = (number: number, time: number): Block => ({ number, time, hash: '', parentHash: '' });
const log = (number: number, blockTimestamp: unknown): RawLog =>
  ({ blockNumber: `0x${number.toString(16)}`, blockTimestamp }) as RawLog;
const ENDS = [block(10, 100), block(20, 200)];

describe('times of logs', () => {
  it('are what the node says, where headers were not read', () =>
    expect(timesOf([log(10, '0x64'), log(12, '0x78'), log(12, '0x78'), log(20, '0xc8')], ENDS)).toEqual([
      100, 120, 120, 200,
    ]));

  it('are those of the headers that were read', () =>
    expect(timesOf([log(10, '0x0'), log(20, null)], ENDS)).toEqual([100, 200]));

  it('of a batch without logs are none', () => expect(timesOf([], ENDS)).toEqual([]));

  it.each([
    ['nothing is said', [undefined]],
    ['it is null', [null]],
    ['it is a number', [120]],
    ['it is no quantity', ['120']],
    ['it is zero', ['0x0']],
    ['it is before the first block', ['0x63']],
    ['it is after the last block', ['0xc9']],
    ['one of them is missing', ['0x78', undefined]],
    ['they fall', ['0x79', '0x78']],
  ])('have to be read when %s', (_, said) =>
    expect(
      timesOf(
        said.map((each, i) => log(12 + i, each)),
        ENDS,
      ),
    ).toBeUndefined(),
  );

  it('have to be read when they differ within a block', () =>
    expect(timesOf([log(12, '0x78'), log(12, '0x79')], ENDS)).toBeUndefined());
});

describe('a block that the node does not send', () => {
  const hashOf = (number: number): string => `0x${`${number}`.padStart(64, '0')}`;
  const raw = (number: number, parent = number - 1) => ({
    ...{ number: `0x${number.toString(16)}`, hash: hashOf(number), parentHash: hashOf(parent) },
    timestamp: '0x1',
  });

  it.each([
    ['between others', [raw(5), null, raw(7)], 6],
    ['even if a later one links past it', [raw(5), null, raw(7, 5)], 6],
    ['at the end', [raw(5), raw(6), null], 7],
  ])('is missing, %s', (_, blocks, missing) =>
    expect(() => linkBlocks({ ...block(4, 1), hash: hashOf(4) }, [5, 6, 7], blocks, true)).toThrow(
      new NodeBehind(`the node lacks block ${missing}`),
    ),
  );
});

describe('logs', () => {
  const HASH = `0x${'1'.repeat(64)}`;
  const OURS = `0x${'a'.repeat(40)}`;
  const whole = (fields: Partial<Record<keyof RawLog, unknown>> = {}): RawLog =>
    ({
      ...{ address: OURS, topics: [HASH], data: '0x', blockNumber: '0xa', blockHash: HASH },
      ...{ transactionHash: HASH, logIndex: '0x0', ...fields },
    }) as RawLog;
  const own = (...logs: unknown[]): RawLog[] => ownLogs([OURS], logs as RawLog[], 1, 20);

  it('that are repeated, shuffled, pending or of others are put right', () => {
    const [first, second] = [whole(), whole({ logIndex: '0x1' })];
    const pending = whole({ blockNumber: null, blockHash: null, logIndex: null });
    const others = [whole({ address: HASH.slice(0, 42) }), whole({ blockNumber: '0x15' })];
    expect(
      own(second, pending, first, ...others, { ...second, address: OURS.toUpperCase().replace('X', 'x') }),
    ).toEqual([first, expect.objectContaining({ logIndex: '0x1' })]);
  });

  it('in capitals are the same', () => {
    const hash = `0x${'a'.repeat(64)}`;
    const small = whole({ topics: [hash], blockHash: hash, transactionHash: hash });
    const capital = `0x${'A'.repeat(64)}`;
    const large = whole({ topics: [capital], blockHash: capital, transactionHash: capital });
    expect(own(large)).toEqual([small]);
    expect(own(small, large)).toHaveLength(1);
  });

  it.each<[string, Partial<RawLog>]>([
    ['transaction', { transactionHash: `0x${'2'.repeat(64)}` }],
    ['topics', { topics: [`0x${'2'.repeat(64)}`] }],
    ['data', { data: '0x00' }],
  ])('of one index that differ in their %s are no usable answer, as one of them would be lost', (_, other) =>
    expect(() => own(whole(), whole(other))).toThrow(MalformedAnswer),
  );

  it.each([null, true, 'x', {}, whole({ topics: null }), whole({ data: null }), whole({ logIndex: 0 })])(
    'are no usable answer with %j among them',
    (log) => expect(() => own(whole(), log)).toThrow(MalformedAnswer),
  );
});

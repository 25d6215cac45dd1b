import { type Block } from './raw-chain';
import { timesOf } from './block-batch';
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

import { traceOf } from './request-line';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const found = { traceId: TRACE, parentId: PARENT };

describe('traceOf', () => {
  it.each([
    `00-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-00`,
    `00-${TRACE}-${PARENT}-ff`,
    `01-${TRACE}-${PARENT}-01`,
    `cc-${TRACE}-${PARENT}-01-what-the-future-will-be-like`,
    `fe-${TRACE}-${PARENT}-01-`,
  ])('reads %s', (header) => {
    expect(traceOf(header)).toEqual(found);
  });

  it.each([
    undefined,
    '',
    [`00-${TRACE}-${PARENT}-01`],
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE}-${PARENT}-01\n`,
    ` 00-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-1`,
    `00-${TRACE}-${PARENT}`,
    `01-${TRACE}-${PARENT}-01.more`,
    `ff-${TRACE}-${PARENT}-01`,
    `0-${TRACE}-${PARENT}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE}-${PARENT.toUpperCase()}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}a-01`,
    `00-${'a'.repeat(10_000)}-${PARENT}-01`,
  ])('refuses %j', (header) => {
    expect(traceOf(header)).toBeUndefined();
  });
});

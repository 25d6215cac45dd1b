import { CursorCodec } from './cursor';
import { envelope } from './envelope.adapter';
import { JsonText } from './json-text';
import { Page, TopLevelCopy, pageWithCursor } from './pagination';

const sent = (payload: unknown): unknown => JSON.parse(envelope(payload));

describe('envelope', () => {
  it('wraps a value', () => {
    expect(sent({ a: 1 })).toEqual({ success: true, data: { a: 1 } });
    expect(sent(null)).toEqual({ success: true, data: null });
    expect(sent(undefined)).toEqual({ success: true, data: null });
  });

  it('wraps JSON text unchanged, including digits that no double can hold', () => {
    expect(envelope(new JsonText('{"a":123456789012345678901234567890}'))).toBe(
      '{"success":true,"data":{"a":123456789012345678901234567890}}',
    );
  });

  it('repeats the fields of a TopLevelCopy beside data', () => {
    expect(sent(new TopLevelCopy({ nonce: 'n' }))).toEqual({
      success: true,
      data: { nonce: 'n' },
      nonce: 'n',
    });
  });

  it.each([
    [0, 20, 0],
    [1, 20, 1],
    [20, 20, 1],
    [21, 20, 2],
    [101, 100, 2],
  ])('has the pagination of a list: %d by %d is %d pages', (total, limit, pages) => {
    expect(sent(new Page(new JsonText<number[]>('[1]'), total, { page: 3, limit }))).toEqual({
      success: true,
      data: [1],
      pagination: { page: 3, limit, total, pages },
    });
  });

  it('has the cursor of the next page beside the pagination, or in its place, and none where there are none', () => {
    const items = new JsonText<number[]>('[1]');
    const numbers = new CursorCodec('numbers', /^\d$/);
    const query = { page: 1, limit: 1 };
    const pagination = { ...query, total: 2, pages: 2 };
    const next = numbers.encode('1');
    const list = { success: true, data: [1] };
    expect(sent(new Page(items, 2, query))).toEqual({ ...list, pagination });
    expect(sent(new Page(items, 2, query, next))).toEqual({ ...list, pagination, next });
    expect(sent(new Page(items, 2, query, null))).toEqual({ ...list, pagination, next: null });
    expect(sent(pageWithCursor({ data: '[1]', next: '1' }, query, numbers))).toEqual({ ...list, next });
    expect(sent(pageWithCursor({ data: '[1]', next: null }, query, numbers))).toEqual({
      ...list,
      next: null,
    });
    expect(sent(pageWithCursor({ data: '[1]', total: 2, next: '1' }, query, numbers))).toEqual({
      ...list,
      pagination,
      next,
    });
  });
});

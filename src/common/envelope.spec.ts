import { envelope } from './envelope.adapter';
import { JsonText } from './json-text';
import { LegacyEnvelope, Page } from './pagination';

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

  it('repeats the fields of a legacy payload beside data', () => {
    expect(sent(new LegacyEnvelope({ nonce: 'n' }))).toEqual({
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
});

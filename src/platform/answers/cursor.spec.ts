import fc from 'fast-check';
import { CursorCodec } from './cursor';

const numbers = new CursorCodec('numbers', /^\d+$/);
const digits = new CursorCodec('digits', /^\d+$/);

describe('cursors', () => {
  it('lead back to their position', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{1,60}$/), (position) => {
        expect(numbers.decode(numbers.encode(position))).toBe(position);
      }),
    );
  });

  it('are one text for a position, safe in a URL, that does not show it', () => {
    const cursor = numbers.encode('123456');
    expect(cursor).toMatch(/^[\w-]+$/);
    expect(cursor).not.toContain('123456');
  });

  it('are refused in another list', () => {
    expect(digits.decode(numbers.encode('12'))).toBeUndefined();
  });

  it('are refused with any character changed, left out or added', () => {
    const cursor = numbers.encode('1234567890');
    const alphabet = 'ABCXYZabcxyz0189-_=+/ \0é';
    for (let i = 0; i <= cursor.length; i++) {
      const [before, after] = [cursor.slice(0, i), cursor.slice(i)];
      for (const other of alphabet) {
        expect(numbers.decode(before + other + after)).toBeUndefined();
        if (other !== cursor[i] && after)
          expect(numbers.decode(before + other + after.slice(1))).toBeUndefined();
      }
      if (after) expect(numbers.decode(before + after.slice(1))).toBeUndefined();
    }
  });

  it.each(['', 'x', '123', null, undefined, 1, ['a'], {}, 'A'.repeat(1_000_000)])('are not %p', (value) => {
    expect(numbers.decode(value)).toBeUndefined();
  });

  it('are refused where the position has not the form of one', () => {
    expect(numbers.decode(new CursorCodec('numbers', /./).encode('x'))).toBeUndefined();
  });
});

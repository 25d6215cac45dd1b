import { AnswerTooLarge, readBounded } from './read-bounded';

describe('readBounded', () => {
  it('gives the text, also if a character is split between two chunks', async () => {
    const bytes = Buffer.from('€');
    const body = new ReadableStream({
      start(stream) {
        stream.enqueue(bytes.subarray(0, 1));
        stream.enqueue(bytes.subarray(1));
        stream.close();
      },
    });
    expect(await readBounded(new Response(body), 3)).toBe('€');
    expect(await readBounded(new Response(null), 0)).toBe('');
  });

  it('stops reading at the limit', async () => {
    let cancelled = false;
    const body = new ReadableStream({
      pull: (stream) => stream.enqueue(Buffer.alloc(1000)),
      cancel: () => void (cancelled = true),
    });
    await expect(readBounded(new Response(body), 2500)).rejects.toThrow(AnswerTooLarge);
    expect(cancelled).toBe(true);
  });
});

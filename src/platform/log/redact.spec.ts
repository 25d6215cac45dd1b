import { describeError, redact } from './redact';

describe('redact', () => {
  it.each([
    ['URL: https://rpc.example/v2/s3cret', 'URL: https://rpc.example'],
    ['https://user:s3cret@rpc.example:8545/?key=s3cret failed', 'https://rpc.example:8545 failed'],
    ['"postgres://savings:s3cret@db:5432/savings"', '"postgres://db:5432"'],
    ['postgresql://u:s3c@ret@db/x', 'postgresql://db'],
    ['redis://:s3/cret@redis:6379', 'redis://…'],
    ['redis+sentinel://u:s3cret@a:1,b:2/master', 'redis+sentinel://a:1,b:2'],
    ['wss://x.example#s3cret', 'wss://x.example'],
    ['postgres://u:s3c"ret@db/x refused', 'postgres://db refused'],
    ["http://u:s3c'<ret>@rpc.example/s3cret", 'http://rpc.example'],
    ['"http://a/s3cret" and "http://b"', '"http://a" and "http://b"'],
    ['postgres://u:s3cret ret@db', 'postgres://… ret@db'],
    ['http://[::1]:8545/s3cret, http://a:1.', 'http://[::1]:8545 http://a:1.'],
    ['http://a/s3cret and http://b/s3cret', 'http://a and http://b'],
    ['failed\nRequest body: {"params":["s3cret"]}\nDetails: x', 'failed\nRequest body: …\nDetails: x'],
    ['connect ECONNREFUSED 10.0.0.1:5432', 'connect ECONNREFUSED 10.0.0.1:5432'],
    [
      'at Object.<anonymous> (/app/dist/src/main.js:1:2)',
      'at Object.<anonymous> (/app/dist/src/main.js:1:2)',
    ],
  ])('%j becomes %j', (text, redacted) => {
    expect(redact(text)).toBe(redacted);
    expect(redact(text)).not.toContain('s3c');
  });

  it('removes secrets from errors, their causes, and the values logged with them', () => {
    const cause = new Error('of https://rpc.example/s3cret');
    const error = Object.assign(new Error('failed', { cause }), { config: 's3cret', parameters: ['s3cret'] });
    error.stack = 'Error: failed\n    at https://rpc.example/s3cret:1:2';
    for (const logged of [
      redact({ error }),
      redact([error]),
      describeError(error),
      redact(new Set([error])),
    ]) {
      expect(JSON.stringify(logged)).toContain('rpc.example');
      expect(JSON.stringify(logged)).not.toContain('s3cret');
    }
  });

  // Measures CPU time, so that a busy machine does not matter. Backtracking would take many times as long.
  it('takes time in proportion to the text', () => {
    const begun = process.cpuUsage();
    for (const part of ['http://"', 'http://a:', 'a,', '.', '@', '[', 'http://a,', 'eyJ.', '0x'])
      for (const start of ['http://', ''])
        expect(redact(`${start}${part.repeat(20_000)}<`)).toEqual(expect.any(String));
    expect(process.cpuUsage(begun).user).toBeLessThan(10e6);
  });

  it('keeps a bounded part of deep, long or endless values', () => {
    const circle: Record<string, unknown> = {};
    circle.a = circle.b = circle;
    const error = new Error('x');
    error.stack = undefined;
    error.cause = error;
    expect(JSON.stringify(redact(circle)).length).toBeLessThan(2000);
    expect(JSON.stringify(describeError(error)).length).toBeLessThan(500);
    const long = Array.from({ length: 1000 }, (_, i) => i);
    expect(redact(long)).toHaveLength(100);
    expect(Object.keys(redact(Object.fromEntries(long.map((i) => [`f${i}`, i]))) as object)).toHaveLength(
      100,
    );
  });
});

import { redact } from './redact';

describe('redact', () => {
  it.each([
    ['URL: https://rpc.example/v2/s3cret', 'URL: https://rpc.example'],
    ['https://user:s3cret@rpc.example:8545/?key=s3cret failed', 'https://rpc.example:8545 failed'],
    ['"postgres://savings:s3cret@db:5432/savings"', '"postgres://db:5432"'],
    ['postgresql://u:s3c@ret@db/x', 'postgresql://db'],
    ['redis://:s3/cret@redis:6379', 'redis://…'],
    ['redis+sentinel://u:s3cret@a:1,b:2/master', 'redis+sentinel://a:1,b:2'],
    ['wss://x.example#s3cret', 'wss://x.example'],
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
});

import { OutageLog } from './outage-log';

it('tells an outage once, and its end', () => {
  const lines: string[] = [];
  const logger = {
    warn: (text: string) => lines.push(`warn ${text}`),
    log: (text: string) => lines.push(text),
  };
  const outage = new OutageLog(logger, 'has to wait', 'goes on');
  outage.succeeded();
  for (let round = 0; round < 2; round++) {
    outage.failed(new Error('gone'));
    outage.failed(new Error('still gone'));
    outage.succeeded();
    outage.succeeded();
  }
  expect(lines).toEqual(['warn has to wait: gone', 'goes on', 'warn has to wait: gone', 'goes on']);
});

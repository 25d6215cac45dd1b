import { OutageLog } from '#platform/log/outage-log';
import { Loop } from './loop';

const HOUR_MS = 3_600_000;

it('repeats what failed, after the wait for that, and logs it once', async () => {
  const lines: string[] = [];
  const logger = { warn: (text: string) => lines.push(text), log: (text: string) => lines.push(text) };
  const waits: boolean[] = [];
  let turns = 0;
  await new Promise<void>((resolve) => {
    const work = (): void => {
      if (++turns === 4) resolve();
      if (turns < 3) throw new Error('gone');
    };
    const wait = (hasFailed: boolean): number => {
      waits.push(hasFailed);
      return turns < 4 ? 1 : HOUR_MS;
    };
    new Loop(work, wait, new OutageLog(logger, 'has to wait', 'goes on')).start();
  });
  expect([waits.slice(0, 4), lines]).toEqual([
    [false, true, true, false],
    ['has to wait: gone', 'goes on'],
  ]);
});

describe('a loop with a long wait', () => {
  let turns = 0;
  let begun: () => void = () => undefined;
  let end: () => void = () => undefined;
  let loop: Loop;
  const began = (): Promise<void> => new Promise((resolve) => (begun = resolve));
  beforeEach(() => {
    turns = 0;
    const work = async (): Promise<void> => {
      turns++;
      begun();
      await new Promise<void>((resolve) => (end = resolve));
    };
    loop = new Loop(work, () => HOUR_MS);
    loop.start();
  });

  it('has a turn at once when it is hurried, and another one if that was during a turn', async () => {
    let next = began();
    loop.hurry();
    await next;
    loop.hurry();
    loop.hurry();
    next = began();
    end();
    await next;
    expect(turns).toBe(2);
    end();
    await loop.stop();
    expect(turns).toBe(2);
  });

  it('stops after the turn that is under way, and begins no other', async () => {
    const next = began();
    loop.hurry();
    await next;
    let hasStopped = false;
    const stopped = loop.stop().then(() => (hasStopped = true));
    loop.hurry();
    await Promise.resolve();
    expect(hasStopped).toBe(false);
    end();
    await stopped;
    loop.start();
    await loop.stop();
    expect(turns).toBe(1);
  });
});

import { setImmediate as nextTurn } from 'node:timers/promises';
import { FairTurns, Turns } from './turns';
import { pause } from './waits';

describe('Turns', () => {
  const spend = (ms: number): void => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  };

  /** In which turn of the event loop each piece ran. */
  async function turnsOf(pieces: (() => void)[]): Promise<[piece: number, turn: number][]> {
    const turns = new Turns();
    const ran: [piece: number, turn: number][] = [];
    let turn = 0;
    const count = (): void => {
      turn++;
      if (ran.length < pieces.length) setImmediate(count);
    };
    count();
    await Promise.all(
      pieces.map((piece, n) =>
        turns.run(() => {
          ran.push([n, turn]);
          piece();
        }),
      ),
    );
    return ran;
  }

  it('gives each long piece of work a turn of the event loop of its own, in order', async () => {
    const ran = await turnsOf(Array<() => void>(5).fill(() => spend(3)));
    expect(ran.map(([piece]) => piece)).toEqual([0, 1, 2, 3, 4]);
    expect(new Set(ran.map(([, turn]) => turn)).size).toBe(5);
  });

  it('passes on what the work returns or throws, and goes on', async () => {
    const turns = new Turns();
    const fails = turns.run(() => {
      spend(3);
      throw new Error('no');
    });
    const later = turns.run(() => 'done');
    await expect(fails).rejects.toThrow('no');
    expect(await later).toBe('done');
  });

  it('a piece does not overtake those that wait', async () => {
    const turns = new Turns();
    const ran: number[] = [];
    const piece = (n: number) => (): void => {
      ran.push(n);
      spend(2);
    };
    const pending = [0, 1, 2, 3].map((n) => turns.run(piece(n)));
    await pending[0];
    while (ran.length < 3) await nextTurn();
    pending.push(turns.run(piece(4)), turns.run(piece(5)));
    await Promise.all(pending);
    expect(ran).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe('FairTurns', () => {
  /** Pieces that end when the test says so. */
  class Pieces {
    /** Whose piece began, in that order. */
    readonly begun: string[] = [];
    private readonly ends: (() => void)[] = [];

    constructor(private readonly turns: FairTurns) {}

    add(...whom: string[]): void {
      for (const each of whom)
        void this.turns.run(each, () => {
          this.begun.push(each);
          return new Promise<void>((resolve) => this.ends.push(resolve));
        });
    }

    /** Ends the oldest one that runs, and waits until `count` have begun. */
    async end(count: number): Promise<void> {
      this.ends.shift()!();
      while (this.begun.length < count) await pause(1);
    }
  }

  it('gives a turn to each in order, however many pieces one of them brings', async () => {
    const pieces = new Pieces(new FairTurns(1));
    pieces.add('a', 'a', 'a', 'a', 'b', 'b', 'c');
    for (let count = 2; count <= 7; count++) await pieces.end(count);
    // The first began before the others came, and the second waited longer than theirs.
    expect(pieces.begun.join('')).toBe('aabcaba');
  });

  it('runs so many at once, and one of each', async () => {
    const pieces = new Pieces(new FairTurns(2));
    pieces.add('a', 'a', 'a');
    expect(pieces.begun).toEqual(['a']);
    pieces.add('b', 'c', 'c');
    expect(pieces.begun.join('')).toBe('ab');
    await pieces.end(3);
    // The first of `a` has ended, and its second waited longer than `c` did.
    expect(pieces.begun.join('')).toBe('aba');
    await pieces.end(4);
    expect(pieces.begun.join('')).toBe('abac');
  });

  it('passes on what the work returns or throws, and goes on', async () => {
    const turns = new FairTurns(1);
    const fails = turns.run('a', () => Promise.reject(new Error('no')));
    const throws = turns.run('a', () => {
      throw new Error('not even begun');
    });
    const later = turns.run('a', () => Promise.resolve('done'));
    await expect(fails).rejects.toThrow('no');
    await expect(throws).rejects.toThrow('not even begun');
    expect(await later).toBe('done');
  });

  it('rests after a piece as long as it took', async () => {
    const turns = new FairTurns(1);
    let ended = 0;
    void turns.run('a', async () => {
      await pause(40);
      ended = performance.now();
    });
    await turns.run('b', () => Promise.resolve());
    expect(performance.now() - ended).toBeGreaterThan(30);
  });
});

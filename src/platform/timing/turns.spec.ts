import { setImmediate as nextTurn } from 'node:timers/promises';
import { Turns } from './turns';

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

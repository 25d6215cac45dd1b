import { setImmediate as nextTurn } from 'node:timers/promises';
import { Turns } from './turns';

it('gives each caller a turn of the event loop of its own, in order', async () => {
  const turns = new Turns();
  const ended: [caller: number, turn: number][] = [];
  let turn = 0;
  const pending = Promise.all([0, 1, 2, 3, 4].map((n) => turns.next().then(() => ended.push([n, turn]))));
  for (; ended.length < 5; turn++) await nextTurn();
  await pending;
  expect(ended.map(([caller]) => caller)).toEqual([0, 1, 2, 3, 4]);
  expect(new Set(ended.map(([, at]) => at)).size).toBe(5);
});

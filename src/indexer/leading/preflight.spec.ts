import { Preflight } from './preflight';

it('asks for missing facts less and less often, as some contracts never name their token', () => {
  const nothing = {} as never;
  const preflight = new Preflight(nothing, nothing, nothing, nothing);
  const pauses = Array.from({ length: 7 }, () => preflight.pauseMs() / 1000);
  expect(pauses).toEqual([10, 20, 40, 80, 160, 300, 300]);
});

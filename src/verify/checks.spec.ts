import type { Client } from 'pg';
import { Findings } from '#verify/checks/findings';
import { Look } from '#verify/checks/look';
import { type Check, nextBatch } from './checks';

it('reports a difference once if its batch takes too long and is compared again in parts, and each repair', async () => {
  const query = (_: string, values: unknown[]): unknown =>
    Promise.resolve({ rows: ['a', 'b'].slice(0, values.at(-1) as number).map((key) => ({ key })) });
  const findings = new Findings(10);
  const missing = { id: 'b', found: null, wanted: null, repaired: false };
  const whole: Check = {
    name: 'whole',
    compare: () => Promise.resolve(findings.add({ ...missing, kind: 'whole.before' })),
  };
  const check: Check = {
    name: 'test',
    walk: { table: '', first: '', next: '', atOnce: [2, 2] },
    compare(_, keys) {
      const difference = { id: 'a', found: null, wanted: null };
      findings.add({ ...difference, kind: 'some.left', repaired: false });
      if (keys.length === 1) return Promise.resolve();
      findings.add({ ...difference, kind: 'some.repaired', repaired: true });
      return Promise.reject(Object.assign(new Error('canceling statement'), { code: '57014' }));
    },
  };
  const look = new Look({ query } as unknown as Client, findings);
  await nextBatch(whole, look, '', 1);
  expect(await nextBatch(check, look, '', 2)).toEqual({ keys: ['a'], last: 'a' });
  const { differences, checked } = findings.report();
  expect([differences, checked]).toEqual([
    { 'whole.before': 1, 'some.left': 1, 'some.repaired': 1 },
    { test: 1 },
  ]);
});

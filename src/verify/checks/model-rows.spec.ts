import type { Client } from 'pg';
import { Findings } from './findings';
import { Look } from './look';
import { compareModel } from './model-rows';

it('writes the rows of a model once, however many of its tables differ', async () => {
  const statements: string[] = [];
  const client = {
    query: (query: string | { text: string }) => {
      statements.push(typeof query === 'string' ? query : query.text);
      return Promise.resolve({ rows: [] });
    },
  } as unknown as Client;
  const model = { tables: { one: ['id'], two: ['id'] }, of: 't.id = ANY($1::text[])', by: 1 };
  const findings = new Findings(10);
  const row = { id: 'a', sum: 7n };
  await compareModel(new Look(client, findings, { repair: true }), model, ['a'], () =>
    Promise.resolve({ one: [row], two: [row] }),
  );
  expect(
    statements.flatMap((text) => /^(DELETE|INSERT)\D*? (one|two) /.exec(text)?.slice(1).join(' ') ?? []),
  ).toEqual([...['DELETE one', 'INSERT one', 'DELETE two', 'INSERT two']]);
  expect(findings.report()).toMatchObject({ differences: { 'one.sum': 1, 'two.sum': 1 }, repaired: 2 });
});

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TypedStatement } from '#platform/postgres/statement';

const SRC = join(__dirname, '../src');
/** Names of parameters that say who asks. */
const PARTIES = ['caller', 'user', 'address'];
/** Its address is not proven yet. Charged with it, anyone could use up another's turn. */
const UNPROVEN = 'find_nonce';
const READS = /^\s*(WITH\b(?![\s\S]*\b(INSERT INTO|UPDATE|DELETE FROM)\b)|SELECT\b)/;

type AnyStatement = TypedStatement<Record<string, unknown>, object>;

const isStatement = (value: unknown): value is AnyStatement =>
  typeof value === 'object' && value !== null && 'parameters' in value && 'text' in value;

/** Statements that a module exports, alone or by name. */
const statementsIn = (value: unknown): AnyStatement[] =>
  isStatement(value)
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(statementsIn)
      : [];

it('each read of a caller says so, so that who makes it slow waits for his own', async () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^(features|ledger)\/.*\.sql\.ts$/.test(file),
  );
  const modules = await Promise.all(files.map((file): Promise<unknown> => import(join(SRC, file))));
  const reads = modules.flatMap(statementsIn).filter(({ text }) => READS.test(text));
  const ofCallers = reads.filter(({ parameters }) => parameters.some((name) => PARTIES.includes(name)));
  expect(ofCallers.length).toBeGreaterThan(15);
  const uncharged = ofCallers.filter(
    ({ parameters, payer }) => payer === undefined || !PARTIES.includes(parameters[payer]),
  );
  expect(uncharged.map(({ name }) => name)).toEqual([UNPROVEN]);
});

import { namedStatements } from '../../scripts/generated/queries';

/** Names of parameters that say who asks. */
const PARTIES = ['caller', 'user', 'address'];
/** Its address is not proven yet. Charged with it, anyone could use up another's turn. */
const UNPROVEN = 'find_nonce';
const READS = /^\s*(WITH\b(?![\s\S]*\b(INSERT INTO|UPDATE|DELETE FROM)\b)|SELECT\b)/;

it('each read of a caller says so, so that who makes it slow waits for his own', async () => {
  const all = [...(await namedStatements()).values()].flat();
  const reads = all
    .filter(
      ({ file, statement }) =>
        /^src\/(features|extensions|ledger)\//.test(file) && READS.test(statement.text),
    )
    .map(({ statement }) => statement);
  const ofCallers = reads.filter(({ parameters }) => parameters.some((name) => PARTIES.includes(name)));
  expect(ofCallers.length).toBeGreaterThan(15);
  const uncharged = ofCallers.filter(
    ({ parameters, payer }) => payer === undefined || !PARTIES.includes(parameters[payer]),
  );
  expect(uncharged.map(({ name }) => name)).toEqual([UNPROVEN]);
});

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { artifacts } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { SEED } from '../support/random';
import { MUTANTS, type Mutant } from './invariants/mutants';

const ROOT = path.join(__dirname, '../..');
const FOUNDRY = path.join(__dirname, 'invariants');
const FORGE = '@foundry-rs/forge-linux-amd64';

/** Sequences of calls, of each kind. `npm run fuzz:contracts` runs many more. */
const SEQUENCES = Number(process.env.FUZZ_SEQUENCES ?? 30);
const CALLS = 100;
/** Enough sequences to show each mistake. Under load forge does not always try the same ones: then others are tried, too. */
const MISTAKEN = { sequences: 200, seed: 1 };
const TRIES = 3;
const TIMEOUT_MS = Math.max(300_000, SEQUENCES * 5000);

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'forge-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function forge(): string {
  try {
    return path.join(path.dirname(require.resolve(`${FORGE}/package.json`)), 'bin/forge');
  } catch {
    throw new Error(`forge cannot be run: there is ${FORGE} for Linux on x64 only`);
  }
}

interface Outcome {
  status: string;
  reason: string | null;
  counterexample: unknown;
}

/** @param code what is deployed, in hex */
async function run(
  test: string,
  code: string,
  { sequences, seed }: typeof MISTAKEN,
  shrink: number,
): Promise<Outcome> {
  const modules = path.join(ROOT, 'node_modules');
  const args = ['test', '--json', '--root', FOUNDRY, '--use', path.join(FOUNDRY, 'solc.js')];
  args.push('-R', `contracts/=${ROOT}/contracts/`, '-R', `@openzeppelin/=${modules}/@openzeppelin/`);
  args.push('--match-contract', `^${test}$`, '--fuzz-seed', `${seed}`);
  const env = {
    // The compiler runs with the Node of these tests.
    PATH: `${path.dirname(process.execPath)}:${process.env.PATH}`,
    HOME: dir,
    POOL_CODE: code,
    FOUNDRY_OUT: path.join(dir, 'out'),
    FOUNDRY_CACHE_PATH: path.join(dir, 'cache'),
    FOUNDRY_INVARIANT_FAILURE_PERSIST_DIR: mkdtempSync(path.join(dir, 'failures-')),
    FOUNDRY_INVARIANT_RUNS: `${sequences}`,
    FOUNDRY_INVARIANT_DEPTH: `${CALLS}`,
    FOUNDRY_INVARIANT_SHRINK_RUN_LIMIT: `${shrink}`,
  };
  const { stdout, stderr } = await promisify(execFile)(forge(), args, { env, maxBuffer: 2 ** 26 }).catch(
    // It fails when a test does.
    (error: { stdout?: string; stderr?: string; message: string }) => ({
      stdout: error.stdout ?? '',
      stderr: error.stderr ?? error.message,
    }),
  );
  const line = stdout.split('\n').find((each) => each.includes('"test_results"'));
  if (!line) throw new Error(`forge ran nothing: ${stderr || stdout}`);
  const [suite] = Object.values(
    JSON.parse(line) as Record<string, { test_results: Record<string, Outcome> }>,
  );
  return suite.test_results['invariant()'];
}

/** What has the mistake in it, and the test that has to see it. */
const deployed = ({ contract }: Mutant): 'RotatingPool' | 'LotteryPool' =>
  contract === 'RotatingPool' ? contract : 'LotteryPool';
/** All that the tests can say. A mistake breaks several promises; which one shows first differs between machines. */
const PROMISES = readdirSync(FOUNDRY)
  .filter((file) => file.endsWith('.sol'))
  .flatMap((file) => readFileSync(path.join(FOUNDRY, file), 'utf8').split('\n'))
  .flatMap((line) => (line.startsWith('import') ? [] : [...line.matchAll(/"([^"]+)"/g)]))
  .map(([, promise]) => promise);

const TESTS = { SavingsPool: 'SavingsTest', LotteryPool: 'LotteryTest', RotatingPool: 'CirclesTest' };

/** Without these a contract does the same, takes less than half of the time to compile, and is still small enough. */
const FAST = { cse: false, yul: false };

/** The contracts with each mistake, all compiled at once: they have names of their own. */
function compileMutants(): Map<Mutant, string> {
  const files = MUTANTS.map((mutant, i) => `mutants/${i}/${deployed(mutant)}.sol`);
  const read = (file: string): string => {
    const [, number, contract] = /^mutants\/(\d+)\/(\w+)\.sol$/.exec(file)!;
    const mutant = MUTANTS[Number(number)];
    const text = readFileSync(path.join(ROOT, `contracts/${contract}.sol`), 'utf8');
    const named = text.replace(`contract ${deployed(mutant)} is`, `contract ${deployed(mutant)}${number} is`);
    if (contract !== mutant.contract) return named;
    if (text.split(mutant.before).length !== 2) throw new Error(`not there once: ${mutant.before}`);
    return named.replace(mutant.before, mutant.after);
  };
  const compiled = compile(files, read, FAST);
  return new Map(MUTANTS.map((mutant, i) => [mutant, compiled[`${deployed(mutant)}${i}`].bytecode]));
}

describe('the contracts', () => {
  it.each([
    ['deposits, withdrawals and yield', 'SavingsTest', artifacts.LotteryPool],
    ['draws, tickets, gifts and prizes', 'LotteryTest', artifacts.LotteryPool],
    ['circles, rounds, payouts and refunds', 'CirclesTest', artifacts.RotatingPool],
  ])(
    'hold what they promise after every sequence of %s',
    async (_, test, { bytecode }) => {
      const given = { sequences: SEQUENCES, seed: SEED };
      const { status, reason, counterexample } = await run(test, bytecode, given, 5000);
      expect({ status, reason, counterexample, seed: SEED }).toMatchObject({
        status: 'Success',
        reason: null,
      });
    },
    TIMEOUT_MS,
  );
});

describe('the invariants see', () => {
  let codes: Map<Mutant, string>;
  beforeAll(() => {
    codes = compileMutants();
  }, TIMEOUT_MS);

  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    '%s',
    async (_, mutant) => {
      const { sequences, seed } = { ...MISTAKEN, seed: mutant.seed ?? MISTAKEN.seed };
      let found: Outcome | undefined;
      for (let i = 0; i < TRIES && found?.status !== 'Failure'; i += 1)
        found = await run(TESTS[mutant.contract], codes.get(mutant)!, { sequences, seed: seed + i }, 0);
      expect(found).toMatchObject({ status: 'Failure' });
      expect(PROMISES).toContain(found!.reason);
    },
    TIMEOUT_MS,
  );
});

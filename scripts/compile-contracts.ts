import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import solc from 'solc';
import type { Abi, Hex } from 'viem';

export type Artifacts = Record<string, { abi: Abi; bytecode: Hex }>;

interface SolcOutput {
  errors?: { severity: string; formattedMessage: string; sourceLocation?: { file: string } }[];
  contracts: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>;
}

const root = join(__dirname, '..');
const artifactsFile = join(root, 'contracts/artifacts.json');
const reference = [
  'contracts/SavingsPool.sol',
  'contracts/LotteryPool.sol',
  'contracts/RotatingPool.sol',
  'contracts/TestToken.sol',
  'contracts/TestVault.sol',
  'contracts/ForeignPools.sol',
];

const readFromRoot = (file: string): string => readFileSync(join(root, file), 'utf8');

/**
 * Compiles the given files (paths from the project root) and returns the contracts they define. The same sources
 * and compiler always give the same bytes: without the metadata hash neither paths nor comments get into them.
 * @param read gives the text of each file that is of no package
 * @param details switches steps of the optimizer off: what is only tried needs not all of them
 */
export function compile(
  files: string[] = reference,
  read = readFromRoot,
  details?: Record<string, boolean>,
): Artifacts {
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(files.map((file) => [file, { content: read(file) }])),
    settings: {
      evmVersion: 'cancun',
      optimizer: { enabled: true, runs: 200, details },
      metadata: { bytecodeHash: 'none' },
      outputSelection: Object.fromEntries(
        files.map((file) => [file, { '*': ['abi', 'evm.bytecode.object'] }]),
      ),
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: readImport(read) })) as SolcOutput;
  // Warnings count too, those in packages aside: money contracts compile clean or not at all.
  const problems = (output.errors ?? []).filter(
    ({ severity, sourceLocation }) => severity === 'error' || !sourceLocation?.file.startsWith('@'),
  );
  if (problems.length) throw new Error(problems.map((problem) => problem.formattedMessage).join('\n'));

  const artifacts: Artifacts = {};
  for (const file of files) {
    for (const [name, { abi, evm }] of Object.entries(output.contracts[file])) {
      artifacts[name] = { abi, bytecode: `0x${evm.bytecode.object}` };
    }
  }
  return artifacts;
}

const readImport =
  (read: typeof readFromRoot) =>
  (path: string): { contents: string } | { error: string } => {
    try {
      return { contents: path.startsWith('@') ? readFileSync(packageFile(path), 'utf8') : read(path) };
    } catch (error) {
      return { error: String(error) };
    }
  };

function packageFile(path: string): string {
  const name = path.split('/', 2).join('/');
  return join(dirname(require.resolve(`${name}/package.json`)), path.slice(name.length + 1));
}

if (require.main === module) {
  writeFileSync(artifactsFile, `${JSON.stringify(compile(), null, 2)}\n`);
  console.log(`wrote ${artifactsFile}`);
}

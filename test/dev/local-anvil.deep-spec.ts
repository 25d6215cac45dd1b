import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AnvilNode, type AnvilOptions, startAnvil } from '#dev/anvil';
import { startChain } from '#dev/chain';
import { anvilRpc, connect, deployContracts, poolContracts } from '#dev/deploy';
import { freePort, listening } from '#dev/ports';
import { until } from '../support/app';
import { FROM_SOURCE } from '../support/processes/source';

const launcher = join(__dirname, '../../src/dev/anvil.ts');
let dir: string;
let stateFile: string;
let cleanups: (() => unknown)[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'local-anvil-'));
  stateFile = join(dir, 'sub', 'chain.json');
  cleanups = [() => rmSync(dir, { recursive: true, force: true })];
});

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

async function start(options: AnvilOptions = {}): Promise<AnvilNode> {
  const node = await startAnvil(options);
  cleanups.push(() => node.stop());
  return node;
}

/** Another process that starts a node. With a state file it keeps the node until it is killed. */
async function startElsewhere(
  options: AnvilOptions,
): Promise<{ node: AnvilNode; ended: Promise<unknown>; kill: () => Promise<unknown> }> {
  const code = `require(${JSON.stringify(launcher)}).startAnvil(${JSON.stringify(options)})
    .then((node) => { console.log(JSON.stringify(node)); if (${Boolean(options.stateFile)}) setInterval(() => {}, 1e6); })`;
  const child = spawn(process.execPath, [...FROM_SOURCE, '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  cleanups.push(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const ended = once(child, 'exit');
  const kill = (): Promise<unknown> => {
    child.kill('SIGKILL');
    return ended;
  };
  return { node: JSON.parse(line.toString()) as AnvilNode, ended, kill };
}

const runs = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
  } catch {
    return false;
  }
};

/** The full state of a chain. */
async function chainOf({ url }: Pick<AnvilNode, 'url'>) {
  const client = await connect(url);
  const { number, hash, timestamp } = await client.getBlock();
  const genesis = await client.getBlock({ blockNumber: 0n });
  return { number, hash, timestamp, genesis: genesis.hash, logs: await client.getLogs({ fromBlock: 0n }) };
}

it('gives every node its own port, or the requested one if it is free', async () => {
  const port = await freePort();
  const [one, two] = await Promise.all([start({ chainId: 7, port }), start()]);
  expect(one.port).toBe(port);
  expect(two.port).not.toBe(port);
  expect([one.chainId, two.chainId]).toEqual([7, 31337]);
  await expect(startAnvil({ port })).rejects.toThrow('EADDRINUSE');
  await one.stop();
  expect(await listening(port, '127.0.0.1')).toBeUndefined();
  await one.stop();
  expect(runs(one.pid)).toBe(false);
});

it('tells why a node does not start, and where to read more', async () => {
  const extraArgs = ['--nonsense'];
  await expect(startAnvil({ stateFile, extraArgs })).rejects.toThrow(
    `anvil ended with code 2, see ${stateFile}.log`,
  );
  expect(readFileSync(`${stateFile}.log`, 'utf8')).toContain('--nonsense');
});

it('keeps a chain from one start to the next, and leaves nothing else behind', async () => {
  const first = await start({ stateFile });
  await deployContracts(first.url);
  const before = await chainOf(first);
  await first.stop();
  expect([stateFile, `${stateFile}.next`, `${stateFile}.pid.json`].map(existsSync)).toEqual([
    true,
    false,
    false,
  ]);
  // Every start creates a genesis block with another time, which must not replace the first.
  for (let i = 1; i <= 4; i++) {
    const node = await start({ stateFile, extraArgs: ['--timestamp', `${1_900_000_000 + i}`] });
    expect(await chainOf(node)).toEqual(before);
    await node.stop();
    const { blocks } = JSON.parse(readFileSync(stateFile, 'utf8')) as {
      blocks: { header: { number: string } }[];
    };
    expect(blocks.filter(({ header }) => Number(header.number) === 0)).toHaveLength(1);
  }
});

it('continues a chain whose clock was ahead from its own time', async () => {
  const first = (await startChain(dir))!;
  cleanups.push(() => first.stop());
  const client = await connect(first.url);
  await anvilRpc(client, 'evm_increaseTime', 86_400);
  await anvilRpc(client, 'evm_mine');
  const { timestamp } = await client.getBlock();
  await first.stop();
  const second = (await startChain(dir))!;
  cleanups.push(() => second.stop());
  expect([second.replaced, await second.has((await chainOf(second)).genesis)]).toEqual([false, true]);
  const after = await connect(second.url);
  await anvilRpc(after, 'evm_mine');
  expect((await after.getBlock()).timestamp).toBeGreaterThanOrEqual(timestamp);
});

it('begins a new chain when an interrupted start, or a killed node, has left contracts out', async () => {
  const file = join(dir, 'deployment.json');
  const start = async () => {
    const chain = (await startChain(dir))!;
    cleanups.push(() => chain.stop());
    return chain;
  };
  const first = await start();
  const { contracts, further } = first.deployment;
  expect(poolContracts(first.deployment)).toBe(
    `individual=${contracts.individual},cooperative=${contracts.cooperative},lottery=${contracts.lottery},` +
      `rotating=${contracts.rotating},individual:erc4626+=${further['individual:erc4626+']},` +
      `individual:accounts+=${further['individual:accounts+']},cooperative:clubs+=${further['cooperative:clubs+']}`,
  );
  await first.stop();
  rmSync(file);
  const second = await start();
  // Addresses go by how much was sent before.
  expect([second.replaced, second.deployment.contracts]).toEqual([false, contracts]);
  await second.stop();
  const missing = { ...further, 'cooperative:clubs+': `0x${'1'.repeat(40)}` };
  writeFileSync(file, JSON.stringify({ ...second.deployment, further: missing }));
  const third = await start();
  expect([third.replaced, third.deployment.contracts, third.deployment.further]).toEqual([
    true,
    contracts,
    further,
  ]);
});

it('ends the node of a killed process, and continues its chain', async () => {
  const { node, kill } = await startElsewhere({ stateFile });
  await deployContracts(node.url);
  const before = await chainOf(node);
  await kill();
  expect(runs(node.pid)).toBe(true);
  const again = await start({ stateFile, port: node.port });
  expect(runs(node.pid)).toBe(false);
  expect(await chainOf(again)).toEqual(before);
});

it('starts from the last complete save after the node was killed', async () => {
  const first = await start({ stateFile });
  await deployContracts(first.url);
  await first.stop();
  const saved = readFileSync(stateFile);
  const kill = async (node: AnvilNode, dump: Buffer): Promise<void> => {
    process.kill(node.pid, 'SIGKILL');
    await until(() => !runs(node.pid));
    // As if it had been killed after or during that save.
    writeFileSync(`${stateFile}.next`, dump);
  };
  const fresh = await start({ stateFile });
  const before = await chainOf(fresh);
  await kill(fresh, saved.subarray(0, saved.length / 2));
  const second = await start({ stateFile });
  expect(await chainOf(second)).toEqual(before);
  await kill(second, saved);
  // A process that reuses the id of an ended one is left alone.
  writeFileSync(`${stateFile}.pid.json`, JSON.stringify({ pid: process.pid, port: second.port }));
  expect(await chainOf(await start({ stateFile }))).toEqual(before);
});

it('a node without a state file ends with its process', async () => {
  const { node, ended } = await startElsewhere({});
  await ended;
  await until(() => !runs(node.pid));
});

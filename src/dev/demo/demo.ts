import path from 'node:path';
import { type Address, formatEther, parseEther } from 'viem';
import { bytes16 } from '#values/bytes16';
import { POOL_TYPES, type PoolType, TYPE_WITH_CIRCLES } from '#values/types';
import { type DevClient, anvilRpc, connect, execute, finishDraw, fund, openDraw, read } from '#dev/deploy';
import { readJson } from '#dev/files';
import { liveCircle } from './circle';
import { liveOthers } from './others';
import { type Running, type Saver, say, signIn, startProcess, step, tokens } from './saver';

/**
 * `npm run demo` beside a running `npm start`: the life of three pools, a lottery draw, a savings circle and pools in
 * contracts of others, on the chain and through the API, with a reorganisation in the middle. Each step prints what the API
 * says afterwards. In the end all of it is verified.
 */
interface Transaction {
  id: string;
  status: string;
  txHash: string | null;
  amount: string;
}

async function main(): Promise<void> {
  const running = await findRunning();
  const { contracts, token } = running.deployment;
  const keeper = await connect(running.rpc);

  step('Three wallets sign in');
  const first = await signIn('First', running);
  const second = await signIn('Second', running);
  const third = await signIn('Third', running);
  const all = [first, second, third];
  for (const { name, chain } of all) say(`${name} is ${chain.account.address}`);
  const members = [second, third].map(({ chain }) => chain.account.address);

  step('First opens a pool of each type without circles, and deposits on the chain what was announced');
  const pools = new Map<PoolType, string>();
  for (const type of POOL_TYPES.filter((each) => each !== TYPE_WITH_CIRCLES)) {
    const body = { type, initialDeposit: parseEther('100').toString(), members };
    const { id } = await first.call<{ id: string }>('POST', '/pools', body);
    pools.set(type, id);
    const route = `/transactions?poolId=${id}&type=DEPOSIT`;
    const [before] = await first.call<Transaction[]>('GET', route);
    const args = [bytes16(id), bytes16(before.id), BigInt(before.amount)];
    await execute(first.chain, 'SavingsPool', contracts[type], 'deposit', args);
    const [after] = await first.sees<Transaction[]>(route, ([{ status }]) => status === 'CONFIRMED');
    const change = `${before.status} -> ${after.status} ${after.txHash?.slice(0, 18)}…`;
    say(`${type.padEnd(12)} ${tokens(after.amount)}: ${change}`);
  }

  const pool = pools.get('cooperative')!;
  const none = bytes16('0'.repeat(32));
  const run = ({ chain }: Pick<Saver, 'chain'>, name: string, ...args: unknown[]) =>
    execute(chain, 'SavingsPool', contracts.cooperative, name, [bytes16(pool), ...args]);
  const balance = async (saver: Saver, wanted: string): Promise<void> => {
    const amount = parseEther(wanted).toString();
    const now = await saver.sees<{ balance: string }>(`/pools/${pool}`, (found) => found.balance === amount);
    say(`balance: ${tokens(now.balance)}`);
  };
  step('Second, a member of the cooperative pool, deposits 50 tokens into it');
  await run(second, 'deposit', none, parseEther('50'));
  await balance(second, '150');

  step('The contract earns 6 tokens of yield for it, at 5.25 %');
  await fund(keeper, token, contracts.cooperative, parseEther('1000'));
  await run({ chain: keeper }, 'accrueYield', parseEther('6'), 525);
  await report(first, pool, (now) => now.totalYield !== '0');
  for (const { name, chain } of [first, second]) {
    const args = [bytes16(pool), chain.account.address];
    const share = await read<bigint>(keeper, 'SavingsPool', contracts.cooperative, 'claimableOf', args);
    say(`${name} can claim ${formatEther(share)}, by balance and the seconds it was there`);
  }

  step('First claims its share and withdraws 30 tokens');
  await run(first, 'claimYield', none);
  await run(first, 'withdraw', none, parseEther('30'));
  await balance(first, '120');
  await report(first, pool, (now) => now.lastClaimed !== null);

  step('A reorganisation drops the last deposit, which was 7 tokens, and it is sent again');
  await run(third, 'deposit', none, parseEther('7'));
  await balance(third, '127');
  await anvilRpc(keeper, 'anvil_reorg', 1, []);
  say('the chain has forgotten the block');
  await balance(third, '120');
  await run(third, 'deposit', none, parseEther('7'));
  await balance(third, '127');

  step('A new lottery draw; all three buy tickets');
  await draw(all, keeper, contracts.lottery, token);

  await liveCircle(running, keeper, all);
  await liveOthers(running, keeper, [first, second]);

  step('What the API says in the end');
  say(`all pools: ${JSON.stringify(await first.call('GET', '/analytics/pools'))}`);
  say(`First:     ${JSON.stringify(await first.call('GET', '/analytics/user'))}`);
  const health = await fetch(`${running.api}/health`);
  say(`health:    ${JSON.stringify(((await health.json()) as { services: unknown }).services)}`);
  await verified(running);
}

async function findRunning(): Promise<Running> {
  const running = readJson<Running>(path.resolve('.data', 'running.json'));
  const health = running && (await fetch(`${running.api}/health`).catch(() => undefined));
  if (!running || !health) throw new Error('The demo needs a running service: run `npm start` here first.');
  if (!running.deployment)
    throw new Error('The demo needs the chain of `npm start`: start it without RPC_URL.');
  return running;
}

/** Holds everything against the chain, as `npm run verify` does. @throws Error if something differs */
async function verified(running: Running): Promise<void> {
  step('Everything is verified against the events and the contracts');
  if (!running.database)
    return say('not here: DATABASE_URL names a database of your own, see npm run verify');
  const [code] = await startProcess(running, 'verify.js', { DATABASE_URL: running.database }).ended;
  if (code !== 0) throw new Error('something differs');
}

interface YieldReport {
  totalYield: string;
  claimableYield: string;
  apr: number;
  apy: number;
  lastClaimed: string | null;
}

async function report(saver: Saver, pool: string, wanted: (now: YieldReport) => boolean): Promise<void> {
  const { totalYield, claimableYield, apr, apy } = await saver.sees(`/pools/${pool}/yield`, wanted);
  say(
    `yield: ${tokens(totalYield)}, of them claimable ${tokens(claimableYield)}; apr ${apr} %, apy ${apy} %`,
  );
}

interface Draw {
  drawId: number;
  totalTickets: number;
  prizePool: string;
  participants: number;
  status: string;
}

async function draw(savers: Saver[], keeper: DevClient, lottery: Address, token: Address): Promise<void> {
  const run = (name: string, ...args: unknown[]) => execute(keeper, 'LotteryPool', lottery, name, args);
  const running = await read<bigint>(keeper, 'LotteryPool', lottery, 'currentDraw');
  if (running > 0n) await run('cancelDraw', running);
  // One second per block, so that mining reaches the draw's time without a jump of the clock.
  await anvilRpc(keeper, 'anvil_setBlockTimestampInterval', 1);
  const id = await openDraw(keeper, lottery, 15);
  for (const [i, { name, chain }] of savers.entries()) {
    await execute(chain, 'LotteryPool', lottery, 'buyTickets', [id, BigInt(i + 1)]);
    say(`${name} buys ${i + 1}`);
  }
  const now = await savers[0].sees<Draw>(
    '/lottery/current',
    (found) => found.drawId === Number(id) && found.totalTickets === 6,
  );
  say(`draw ${id}: ${now.status}, ${now.participants} participants, prize ${tokens(now.prizePool)}`);
  await finishDraw(keeper, lottery, id);
  const [winner] = await savers[0].sees<{ drawId: number; winner: string; prize: string }[]>(
    '/lottery/winners?limit=1',
    (found) => found[0]?.drawId === Number(id),
  );
  const name = savers.find(({ chain }) => chain.account.address.toLowerCase() === winner.winner)?.name;
  say(`${name} wins ${tokens(winner.prize)}`);
  // Leaves an open draw, as it was at the start.
  await fund(keeper, token, lottery, parseEther('25'));
  await run('fundPrize', await openDraw(keeper, lottery, 7 * 86_400), parseEther('25'));
}

main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});

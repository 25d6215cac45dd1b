import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Address, formatEther, parseEther, toHex } from 'viem';
import { bytes16 } from '#values/bytes16';
import { POOL_TYPES, type PoolType, TYPE_WITH_CIRCLES } from '#values/types';
import { type DevClient, anvilRpc, connect, execute, fund, read } from '#dev/deploy';
import { liveCircle } from './circle';
import { liveOthers } from './others';
import { type Running, type Saver, signIn } from './saver';
import { say, step, tokens, until } from './steps';
import { verified } from './verified';

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
  const running = JSON.parse(readFileSync(path.resolve('.data', 'running.json'), 'utf8')) as Running;
  const { contracts, token } = running.deployment;
  const keeper = await connect(running.rpc);

  step('Three wallets sign in');
  const first = await signIn('First', running);
  const second = await signIn('Second', running);
  const third = await signIn('Third', running);
  for (const { name, chain } of [first, second, third]) say(`${name} is ${chain.account.address}`);
  const members = [second, third].map(({ chain }) => chain.account.address);

  step('First opens a pool of each type without circles, and deposits on the chain what was announced');
  const pools = new Map<PoolType, string>();
  for (const type of POOL_TYPES.filter((each) => each !== TYPE_WITH_CIRCLES)) {
    const body = { type, initialDeposit: parseEther('100').toString(), members };
    const { id } = await first.call<{ id: string }>('POST', '/pools', body);
    pools.set(type, id);
    const before = await depositOf(first, id);
    await execute(first.chain, 'SavingsPool', contracts[type], 'deposit', [
      bytes16(id),
      bytes16(before.id),
      BigInt(before.amount),
    ]);
    const after = await until(
      `confirmation of ${type}`,
      () => depositOf(first, id),
      (t) => t.status === 'CONFIRMED',
    );
    say(
      `${type.padEnd(12)} ${tokens(after.amount)}: ${before.status} -> ${after.status} ${after.txHash?.slice(0, 18)}…`,
    );
  }

  const pool = pools.get('cooperative')!;
  step('Second, a member of the cooperative pool, deposits 50 tokens into it');
  await execute(second.chain, 'SavingsPool', contracts.cooperative, 'deposit', [
    bytes16(pool),
    bytes16('0'.repeat(32)),
    parseEther('50'),
  ]);
  await balance(second, pool, '150');

  step('The contract earns 6 tokens of yield for it, at 5.25 %');
  await fund(keeper, token, contracts.cooperative, parseEther('1000'));
  await execute(keeper, 'SavingsPool', contracts.cooperative, 'accrueYield', [
    bytes16(pool),
    parseEther('6'),
    525,
  ]);
  await report(first, pool, (now) => now.totalYield !== '0');
  for (const { name, chain } of [first, second]) {
    const args = [bytes16(pool), chain.account.address];
    const share = await read<bigint>(keeper, 'SavingsPool', contracts.cooperative, 'claimableOf', args);
    say(`${name} can claim ${formatEther(share)}, by balance and the seconds it was there`);
  }

  step('First claims its share and withdraws 30 tokens');
  const none = bytes16('0'.repeat(32));
  await execute(first.chain, 'SavingsPool', contracts.cooperative, 'claimYield', [bytes16(pool), none]);
  await execute(first.chain, 'SavingsPool', contracts.cooperative, 'withdraw', [
    bytes16(pool),
    none,
    parseEther('30'),
  ]);
  await balance(first, pool, '120');
  await report(first, pool, (now) => now.lastClaimed !== null);

  step('A reorganisation drops the last deposit, which was 7 tokens, and it is sent again');
  const seven = [bytes16(pool), none, parseEther('7')];
  await execute(third.chain, 'SavingsPool', contracts.cooperative, 'deposit', seven);
  await balance(third, pool, '127');
  await anvilRpc(keeper, 'anvil_reorg', 1, []);
  say('the chain has forgotten the block');
  await balance(third, pool, '120');
  await execute(third.chain, 'SavingsPool', contracts.cooperative, 'deposit', seven);
  await balance(third, pool, '127');

  step('A new lottery draw; all three buy tickets');
  await draw([first, second, third], keeper, contracts.lottery, token);

  await liveCircle(running, keeper, [first, second, third]);
  await liveOthers(running, keeper, [first, second]);

  step('What the API says in the end');
  const all = await first.call<{ totalPools: number; totalDeposits: string }>('GET', '/analytics/pools');
  say(`all pools: ${JSON.stringify(all)}`);
  say(`First:     ${JSON.stringify(await first.call('GET', '/analytics/user'))}`);
  const { services } = await fetch(`${running.api}/health`).then(
    (r) => r.json() as Promise<{ services: unknown }>,
  );
  say(`health:    ${JSON.stringify(services)}`);
  await verified(running);
}

async function depositOf(saver: Saver, pool: string): Promise<Transaction> {
  const [deposit] = await saver.call<Transaction[]>('GET', `/transactions?poolId=${pool}&type=DEPOSIT`);
  return deposit;
}

async function balance(saver: Saver, pool: string, wanted: string): Promise<void> {
  const amount = parseEther(wanted).toString();
  const now = await until(
    `balance of ${wanted}`,
    () => saver.call<{ balance: string }>('GET', `/pools/${pool}`),
    (found) => found.balance === amount,
  );
  say(`balance: ${tokens(now.balance)}`);
}

interface YieldReport {
  totalYield: string;
  claimableYield: string;
  apr: number;
  apy: number;
  lastClaimed: string | null;
}

async function report(saver: Saver, pool: string, wanted: (now: YieldReport) => boolean): Promise<void> {
  const now = await until('yield', () => saver.call<YieldReport>('GET', `/pools/${pool}/yield`), wanted);
  const { totalYield, claimableYield, apr, apy } = now;
  say(
    `yield: ${tokens(totalYield)}, of them claimable ${tokens(claimableYield)}; apr ${apr} %, apy ${apy} %`,
  );
}

async function draw(savers: Saver[], keeper: DevClient, lottery: Address, token: Address): Promise<void> {
  const run = (name: string, args: unknown[]) => execute(keeper, 'LotteryPool', lottery, name, args);
  const current = (): Promise<bigint> => read<bigint>(keeper, 'LotteryPool', lottery, 'currentDraw');
  const open = async (seconds: number): Promise<bigint> => {
    const { timestamp } = await keeper.getBlock();
    await run('openDraw', [parseEther('1'), timestamp + BigInt(seconds)]);
    return current();
  };
  const running = await current();
  if (running > 0n) await run('cancelDraw', [running]);
  // One second per block, so that mining reaches the draw's time without a jump of the clock.
  await anvilRpc(keeper, 'anvil_setBlockTimestampInterval', 1);
  const id = await open(15);
  for (const [i, { name, chain }] of savers.entries()) {
    await execute(chain, 'LotteryPool', lottery, 'buyTickets', [id, BigInt(i + 1)]);
    say(`${name} buys ${i + 1}`);
  }
  const [saver] = savers as [Saver];
  type Draw = {
    drawId: number;
    totalTickets: number;
    prizePool: string;
    participants: number;
    status: string;
  };
  const now = await until(
    'the draw',
    () => saver.call<Draw>('GET', '/lottery/current').catch(() => undefined),
    (found) => found?.drawId === Number(id) && found.totalTickets === 6,
  );
  say(`draw ${id}: ${now!.status}, ${now!.participants} participants, prize ${tokens(now!.prizePool)}`);
  await anvilRpc(keeper, 'anvil_mine', toHex(20));
  await run('closeDraw', [id]);
  await anvilRpc(keeper, 'anvil_mine', toHex(2));
  await run('completeDraw', [id]);
  await run('claimPrize', [id]);
  await anvilRpc(keeper, 'anvil_removeBlockTimestampInterval');
  const [winner] = await until(
    'the winner',
    () => saver.call<{ drawId: number; winner: string; prize: string }[]>('GET', '/lottery/winners?limit=1'),
    (found) => found[0]?.drawId === Number(id),
  );
  const name = savers.find(({ chain }) => chain.account.address.toLowerCase() === winner.winner)?.name;
  say(`${name} wins ${tokens(winner.prize)}`);
  // Leaves an open draw, as it was at the start.
  await fund(keeper, token, lottery, parseEther('25'));
  const next = await open(7 * 86_400);
  await run('fundPrize', [next, parseEther('25')]);
}

main().catch((error: Error & { code?: string }) => {
  const hint =
    error.code === 'ENOENT' || error.code === 'ECONNREFUSED' ? 'Is `npm start` running here? ' : '';
  process.stderr.write(`${hint}${error.message}\n`);
  process.exit(1);
});

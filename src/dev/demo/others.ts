import { type Address, parseEther } from 'viem';
import { type DevClient, execute, fund } from '#dev/deploy';
import { type Running, type Saver, say, sendCalls, step, tokens } from './saver';

interface Row {
  type: string;
  status: string;
  amount: string;
}

/** Pools in contracts that are not ours, paid and taken out of by the calls that the API builds. */
export async function liveOthers(running: Running, keeper: DevClient, savers: Saver[]): Promise<void> {
  const { vault, savings, clubs, token } = running.deployment;
  const [first, second] = savers;
  await liveVault(vault, token, keeper, second);
  await liveSavings(savings, token, keeper, first);
  await liveClub(clubs, savers);
}

async function liveVault(vault: Address, token: Address, keeper: DevClient, saver: Saver): Promise<void> {
  step(`${saver.name} opens a pool in a vault (ERC-4626), pays, and the vault earns`);
  const id = await open(saver, { type: 'individual', contract: vault });
  await confirmed(saver, id, 1);
  await execute(keeper, 'TestToken', token, 'mint', [vault, parseEther('8')]);
  const isEarned = (now: { claimableYield: string }): boolean => now.claimableYield !== '0';
  const { claimableYield } = await saver.sees(`/pools/${id}/yield`, isEarned);
  say(`earned, by the price of its shares: ${tokens(claimableYield)}`);
  await sendCalls(saver, `/pools/${id}/calls/withdraw?amount=${parseEther('54')}`);
  await report(saver, id, 3);
}

async function liveSavings(savings: Address, token: Address, keeper: DevClient, saver: Saver): Promise<void> {
  step(
    `${saver.name} opens a pool in savings that know no pools, and is paid a reward, of which a tenth is a fee`,
  );
  const id = await open(saver, { type: 'individual', contract: savings });
  await confirmed(saver, id, 1);
  await fund(keeper, token, savings, parseEther('20'));
  await execute(keeper, 'AccountSavings', savings, 'reward', [saver.chain.account.address, parseEther('20')]);
  await sendCalls(saver, `/pools/${id}/calls/claim`);
  await sendCalls(saver, `/pools/${id}/calls/withdraw?amount=${parseEther('25')}`);
  await report(saver, id, 3);
}

async function liveClub(clubs: Address, [owner, member]: Saver[]): Promise<void> {
  step(
    `${owner.name} opens a pool for a club, which its contract gives a number; ${member.name} joins by paying`,
  );
  const members = [member.chain.account.address];
  const { id, depositId } = await made(owner, { type: 'cooperative', contract: clubs, members });
  await execute(owner.chain, 'Clubs', clubs, 'createPool', ['of the demo']);
  // Until the event is read, the API does not know the number of the club, and answers 409.
  const route = `/pools/${id}/calls/deposit?transaction=${depositId}`;
  await owner.sees<{ calls: unknown[] }>(route, () => true);
  await sendCalls(owner, route);
  await sendCalls(member, `/pools/${id}/calls/deposit?amount=${parseEther('40')}`);
  await confirmed(owner, id, 2);
  await sendCalls(member, `/pools/${id}/calls/withdraw?amount=${parseEther('15')}`);
  await report(owner, id, 3);
}

const made = (saver: Saver, body: object): Promise<{ id: string; depositId: string }> =>
  saver.call('POST', '/pools', { initialDeposit: parseEther('100').toString(), ...body });

/** A pool whose deposit is paid. */
async function open(saver: Saver, body: object): Promise<string> {
  const { id, depositId } = await made(saver, body);
  await sendCalls(saver, `/pools/${id}/calls/deposit?transaction=${depositId}`);
  return id;
}

/** Waits for this many confirmed transactions. @returns them, the oldest first */
async function confirmed(saver: Saver, pool: string, count: number): Promise<Row[]> {
  const only = (rows: Row[]): Row[] => rows.filter(({ status }) => status === 'CONFIRMED').reverse();
  return only(await saver.sees<Row[]>(`/transactions?poolId=${pool}`, (rows) => only(rows).length === count));
}

/** Prints them, and what is left in the pool. */
async function report(saver: Saver, pool: string, count: number): Promise<void> {
  for (const { type, status, amount } of await confirmed(saver, pool, count))
    say(`${type.padEnd(12)} ${status} ${tokens(amount)}`);
  const { balance } = await saver.call<{ balance: string }>('GET', `/pools/${pool}`);
  say(`left of what was paid in: ${tokens(balance)}`);
}

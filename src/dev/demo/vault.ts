import { type Address, type Hex, parseEther } from 'viem';
import { type DevClient, execute, receiptOf } from '#dev/deploy';
import type { Running, Saver } from './saver';
import { say, step, tokens, until } from './steps';

interface Row {
  type: string;
  status: string;
  amount: string;
}

/** A pool in the vault of the chain: paid in, earned, and taken out with its yield, by the calls that the API builds. */
export async function liveVault(
  { deployment: { vault, token } }: Running,
  keeper: DevClient,
  saver: Saver,
): Promise<void> {
  if (!vault) return;
  step(
    `${saver.name} opens a pool in a vault (ERC-4626), pays by the calls that the API gives, and the vault earns`,
  );
  const body = { type: 'individual', initialDeposit: parseEther('100').toString(), contract: vault };
  const { id, depositId } = await saver.call<{ id: string; depositId: string }>('POST', '/pools', body);
  await sendCalls(saver, `/pools/${id}/calls/deposit?transaction=${depositId}`);
  await statement(saver, id, ({ length }) => length === 1);
  await execute(keeper, 'TestToken', token, 'mint', [vault, parseEther('8')]);
  const earned = await until(
    'what the vault has earned',
    () => saver.call<{ claimableYield: string }>('GET', `/pools/${id}/yield`),
    ({ claimableYield }) => claimableYield !== '0',
  );
  say(`earned, by the price of its shares: ${tokens(earned.claimableYield)}`);
  await sendCalls(saver, `/pools/${id}/calls/withdraw?amount=${parseEther('54')}`);
  const rows = await statement(saver, id, ({ length }) => length === 3);
  for (const { type, status, amount } of rows) say(`${type.padEnd(12)} ${status} ${tokens(amount)}`);
  const { balance } = await saver.call<{ balance: string }>('GET', `/pools/${id}`);
  say(`left of what was paid in: ${tokens(balance)}`);
}

async function sendCalls({ chain, call }: Saver, path: string): Promise<void> {
  const { calls } = await call<{ calls: { to: Address; data: Hex }[] }>('GET', path);
  for (const { to, data } of calls) {
    const { status } = await receiptOf(chain, await chain.sendTransaction({ to, data }));
    if (status !== 'success') throw new Error(`a call of ${path} was reverted`);
  }
}

const statement = (saver: Saver, pool: string, wanted: (rows: Row[]) => boolean): Promise<Row[]> =>
  until(
    'what the vault has told',
    async () => {
      const rows = await saver.call<Row[]>('GET', `/transactions?poolId=${pool}`);
      return rows.filter(({ status }) => status === 'CONFIRMED').reverse();
    },
    wanted,
  );

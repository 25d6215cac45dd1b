import type { Address, TransactionReceipt } from 'viem';
import type { ContractCall } from '../types.js';
import { wait } from '../wait.js';
import type { Payer } from '../wallet.js';
import { NATIVE_COIN, type Spending, allowanceOf, approvals, spendingOf } from './allowance.js';
import { sendBatch } from './batch.js';
import { PAYMENT_GAS, checkFunds, gasOf } from './check.js';
import { addressOf, chainAccess } from './chain-access.js';
import { withPermit } from './permit.js';
import { Run, type RunOptions } from './run.js';

/**
 * Sends the service's calls with a wallet, each after the previous one is on the chain. Asks the person as few times as
 * the wallet, the token and the contract allow: nothing is approved that is approved already; several calls go as one
 * where the wallet can (EIP-5792), and an approval by signature where the token can (EIP-2612).
 * @returns the receipts, in the order of the transactions
 * @throws SavingsError, the wallet's error, or the signal's reason
 */
export async function sendCalls(
  calls: readonly ContractCall[],
  wallet: Payer,
  options: RunOptions = {},
): Promise<TransactionReceipt[]> {
  return sendWith(new Run(chainAccess(wallet, calls[0].chainId, options.config), options), calls);
}

/** The same with a run that is begun already. */
export async function sendWith(run: Run, calls: readonly ContractCall[]): Promise<TransactionReceipt[]> {
  const final = calls[calls.length - 1];
  const approval = calls.find(({ name }) => name === 'approve');
  const spending = approval && spendingOf(approval);
  const value = BigInt(final.value);
  const paid = spending ?? (value > 0n ? { token: NATIVE_COIN, amount: value } : undefined);
  await run.tell({ state: 'checking', ...(paid && { cost: `${paid.amount}` }) });
  const account = await run.account();
  const { reader } = run.chain;
  const owner = addressOf(account);
  const isAllowed = !spending || (await allowanceOf(reader, owner, spending)) >= spending.amount;
  await checkFunds(reader, owner, paid, isAllowed ? await gasOf(reader, owner, final) : PAYMENT_GAS);
  if (isAllowed) return [await run.send(final)];
  const before = await approvals(reader, owner, approval, spending);
  const batch = await sendBatch(run, account, [...before, final]);
  if (batch) return batch;
  const permitted = await withPermit(run, account, final, spending);
  if (permitted) return [await run.send(permitted)];
  const receipts: TransactionReceipt[] = [];
  for (const each of before) receipts.push(await run.send(each));
  await untilAllowed(run, spending, owner);
  return [...receipts, await run.send(final)];
}

/** Nodes behind one address may differ by a block: the approval is mined, and this one has not seen it. */
async function untilAllowed(run: Run, spending: Spending, account: Address): Promise<void> {
  const { reader } = run.chain;
  for (let attempt = 0; attempt < 5; attempt++) {
    if ((await run.within(allowanceOf(reader, account, spending))) >= spending.amount) return;
    await wait(reader.pollingInterval, run.options.signal);
  }
}

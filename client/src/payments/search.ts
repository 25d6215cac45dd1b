import {
  type Address,
  type Client,
  type Hash,
  type Hex,
  type TransactionReceipt,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError,
  decodeFunctionData,
  isAddressEqual,
  parseAbi,
  zeroHash,
} from 'viem';
import {
  getBlock,
  getBlockNumber,
  getLogs,
  getTransaction,
  getTransactionCount,
  getTransactionReceipt,
} from 'viem/actions';
import { DepositSubmittedError } from '../errors.js';
import { type Payment, type PaymentTrace, depositIdOf } from './payment.js';
import { lacksMethod } from './wallet-errors.js';

export interface Found {
  readonly hash: Hash;
  readonly to: Address | null;
  readonly input: Hex;
  readonly value: bigint;
}

/** How many transactions of an account are looked through for one of unknown nonce. */
const MOST_NONCES = 20;
const DEPOSITS = parseAbi([
  'function deposit(bytes16 poolId, bytes16 ref, uint256 amount)',
  'function depositWithPermit(bytes16 poolId, bytes16 ref, uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
]);
const [DEPOSITED] = parseAbi([
  'event Deposited(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
]);

export const isSameCall = ({ to, input, value }: Found, trace: PaymentTrace): boolean =>
  to !== null && isAddressEqual(to, trace.to) && input === trace.data && value === BigInt(trace.value ?? 0);

/** The account's transaction with the nonce, in a block from `fromBlock` on. About 2 log2(blocks) requests. */
export async function withNonce(
  reader: Client,
  from: Address,
  nonce: number,
  fromBlock: bigint,
): Promise<Found | undefined> {
  let [low, high] = [fromBlock, await getBlockNumber(reader, { cacheTime: 0 })];
  const isPassed = async (blockNumber: bigint): Promise<boolean> =>
    (await getTransactionCount(reader, { address: from, blockNumber })) > nonce;
  while (low < high) {
    const middle = (low + high) / 2n;
    if (await isPassed(middle)) high = middle;
    else low = middle + 1n;
  }
  const { transactions } = await getBlock(reader, { blockNumber: low, includeTransactions: true });
  return transactions.find((each) => each.nonce === nonce && isAddressEqual(each.from, from));
}

/**
 * The same call among what the account has sent since the trace began. `sawNewest` tells whether a node that has the
 * newest of them was asked: one behind the same address may be late.
 */
export async function sameCallSince(
  reader: Client,
  from: Address,
  trace: PaymentTrace,
): Promise<{ found?: Found; sawNewest: boolean }> {
  const count = await getTransactionCount(reader, { address: from, blockTag: 'latest' });
  const end = Math.min(count, trace.nonce + MOST_NONCES);
  let sawNewest = true;
  for (let nonce = trace.nonce; nonce < end; nonce++) {
    const found = await withNonce(reader, from, nonce, BigInt(trace.fromBlock));
    if (found && isSameCall(found, trace)) return { found, sawNewest };
    sawNewest = found !== undefined;
  }
  return { sawNewest };
}

/**
 * The transaction that paid an announced deposit, from any sender and in any wrapping: the contract's event
 * has the deposit's id.
 */
export async function depositOf(
  reader: Client,
  from: Address,
  { to, data, fromBlock }: PaymentTrace,
): Promise<Pick<Found, 'hash'> | undefined> {
  const [poolId, ref] = referenceOf(data);
  if (!poolId || !ref || zeroHash.startsWith(ref)) return undefined;
  const args = { poolId, ref, account: from };
  const [log] = await getLogs(reader, { address: to, event: DEPOSITED, args, fromBlock: BigInt(fromBlock) });
  return log && { hash: log.transactionHash };
}

/** Of transactions that will never be carried out: the chain has another one in their place. */
const REPLACED = new Set(['transaction_cancelled', 'transaction_replaced']);

/**
 * The transaction of a payment that was left while the wallet was asked, or was given up: on the chain, or on its way
 * there. What was reverted has paid nothing.
 * @throws DepositSubmittedError while the account has transactions on their way of which it may be one
 */
export async function sentHash(
  reader: Client,
  from: Address,
  trace: PaymentTrace,
  payment: Payment,
): Promise<Hash | undefined> {
  const { hash, failure } = payment;
  const paid = await depositOf(reader, from, trace);
  if (paid) return paid.hash;
  if (hash) {
    const receipt = await receiptOf(reader, hash);
    if (receipt) return receipt.status === 'success' ? hash : undefined;
    if (await transactionOf(reader, hash)) return hash;
    if (failure && REPLACED.has(failure.code)) return undefined;
  }
  const { found } = await sameCallSince(reader, from, trace);
  if (found) return (await receiptOf(reader, found.hash))?.status === 'success' ? found.hash : undefined;
  const [latest, pending] = await Promise.all(
    (['latest', 'pending'] as const).map((blockTag) =>
      getTransactionCount(reader, { address: from, blockTag }),
    ),
  );
  if (pending > latest) throw new DepositSubmittedError(depositIdOf(payment) ?? payment.id, undefined);
  return undefined;
}

const unless =
  (isMeant: (error: unknown) => boolean) =>
  (error: unknown): undefined => {
    if (!isMeant(error)) throw error;
  };

/** undefined if the node does not have it, or not yet. */
export const receiptOf = (reader: Client, hash: Hash): Promise<TransactionReceipt | undefined> =>
  getTransactionReceipt(reader, { hash }).catch(
    unless((error) => error instanceof TransactionReceiptNotFoundError),
  );

/** The same of a transaction that may be pending. Some wallets cannot say. */
export const transactionOf = (reader: Client, hash: Hash) =>
  getTransaction(reader, { hash }).catch(
    unless((error) => error instanceof TransactionNotFoundError || lacksMethod(error)),
  );

function referenceOf(data: Hex): [poolId?: Hex, ref?: Hex] {
  try {
    const [poolId, ref] = decodeFunctionData({ abi: DEPOSITS, data }).args;
    return [poolId, ref];
  } catch {
    return [];
  }
}

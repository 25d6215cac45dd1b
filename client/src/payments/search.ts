import {
  type Address,
  type Client,
  type Hash,
  type Hex,
  TransactionReceiptNotFoundError,
  decodeFunctionData,
  isAddressEqual,
  parseAbi,
  zeroHash,
} from 'viem';
import { getBlock, getBlockNumber, getLogs, getTransactionCount, getTransactionReceipt } from 'viem/actions';
import type { PaymentTrace } from './payment.js';

export interface Found {
  readonly hash: Hash;
  readonly to: Address | null;
  readonly input: Hex;
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

export const isSameCall = ({ to, input }: Found, trace: PaymentTrace): boolean =>
  to !== null && isAddressEqual(to, trace.to) && input === trace.data;

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

/** The same call among what the account has sent since the trace began. */
export async function sameCallSince(
  reader: Client,
  from: Address,
  trace: PaymentTrace,
): Promise<Found | undefined> {
  const count = await getTransactionCount(reader, { address: from, blockTag: 'latest' });
  const end = Math.min(count, trace.nonce + MOST_NONCES);
  for (let nonce = trace.nonce; nonce < end; nonce++) {
    const found = await withNonce(reader, from, nonce, BigInt(trace.fromBlock));
    if (found && isSameCall(found, trace)) return found;
  }
  return undefined;
}

/**
 * The transaction that paid an announced deposit, whoever sent it, and in whatever it was wrapped: the contract's event
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

export const hasSucceeded = async (reader: Client, hash: Hash): Promise<boolean> =>
  getTransactionReceipt(reader, { hash }).then(
    ({ status }) => status === 'success',
    (error: unknown) => {
      if (error instanceof TransactionReceiptNotFoundError) return false;
      throw error;
    },
  );

function referenceOf(data: Hex): [poolId?: Hex, ref?: Hex] {
  try {
    const [poolId, ref] = decodeFunctionData({ abi: DEPOSITS, data }).args;
    return [poolId, ref];
  } catch {
    return [];
  }
}

import { isObject } from '#ledger/chain/json-rpc';
import { type RawBlock, headerCall, hex, quantityOf, toBlock } from '#indexer/reading/raw-chain';
import { type Call, RetryableChainError } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';

/** A hash that was told. Sender and nonce are known once a node has shown the transaction. */
export interface Submission {
  id: string;
  hash: string;
  sender: string | null;
  nonce: number | null;
}

/** The last block whose events the ledger has applied, and the last of these that no reorganisation takes back. */
export interface LedgerChain {
  applied: number;
  hash: string | null;
  final: number;
}

/**
 * What one endpoint reports. `over`: in a final block the transaction failed, or paid nothing into the pool, or another
 * transaction of its sender took its nonce. `open`: a node has it, and it may still pay the deposit.
 */
export type Testimony =
  { says: 'over' } | { says: 'open'; sender: string | null; nonce: number | null } | { says: 'unknown' };

/** `undecided`: too few endpoints answer, or they contradict each other. */
type Verdict =
  | { verdict: 'over' | 'unknown' | 'undecided' }
  | { verdict: 'open'; sender: string | null; nonce: number | null };

/** Nobody waits for the answers. */
const PATIENCE_MS = 1000;
const ADDRESS = /^0x[0-9a-f]{40}$/i;

const callsFor = ({ hash, sender }: Submission, final: number): Call[] => [
  ['eth_getTransactionReceipt', [hash]],
  ['eth_getTransactionByHash', [hash]],
  ...(sender === null ? [] : [['eth_getTransactionCount', [sender, hex(final)]] as Call]),
];

/**
 * Asks one endpoint, all in one request: what it says counts only if it has the ledger's last applied block. So nothing
 * is concluded from a branch that is not the ledger's, or from blocks whose events the ledger has yet to apply.
 * @returns undefined for all if it does not answer, or has another block; undefined for those that it did not answer
 */
export async function ask(
  { source }: WatchedEndpoint,
  submissions: Submission[],
  chain: LedgerChain,
): Promise<(Testimony | undefined)[]> {
  const calls = submissions.map((each) => callsFor(each, chain.final));
  try {
    const [header, ...answers] = await source.rpc.settled(
      [headerCall(chain.applied), ...calls.flat()],
      PATIENCE_MS,
    );
    if (!isObject(header) || toBlock(header as unknown as RawBlock).hash !== chain.hash)
      return submissions.map(() => undefined);
    return submissions.map((each, i) => testify(each, answers.splice(0, calls[i].length), chain.final));
  } catch (error) {
    if (error instanceof RetryableChainError) return submissions.map(() => undefined);
    throw error;
  }
}

function testify(
  { nonce }: Submission,
  [receipt, transaction, count]: unknown[],
  final: number,
): Testimony | undefined {
  if (receipt instanceof Error || transaction instanceof Error) return undefined;
  // One that pays the deposit has confirmed it once its block is applied.
  if (isObject(receipt) && quantityOf(receipt.blockNumber) <= final) return { says: 'over' };
  if (isObject(transaction)) {
    const { from } = transaction;
    const sender = typeof from === 'string' && ADDRESS.test(from) ? from.toLowerCase() : null;
    const place = quantityOf(transaction.nonce);
    const isNamed = sender !== null && !Number.isNaN(place);
    return { says: 'open', sender: isNamed ? sender : null, nonce: isNamed ? place : null };
  }
  if (isObject(receipt)) return { says: 'open', sender: null, nonce: null };
  return nonce !== null && quantityOf(count) > nonce ? { says: 'over' } : { says: 'unknown' };
}

/**
 * Endpoints are trusted as where batches are read: most of those that answer have to say that it is over, and as many
 * as have to agree. But a single one that has the transaction is enough to wait, because nodes do not share all that
 * they are sent.
 */
export function judge(testimonies: (Testimony | undefined)[], agree: number): Verdict {
  const given = testimonies.filter((each) => each !== undefined);
  const over = given.filter(({ says }) => says === 'over').length;
  if (given.length < Math.max(agree, 1)) return { verdict: 'undecided' };
  if (over * 2 > given.length && over >= agree) return { verdict: 'over' };
  const open = given.filter((each) => each.says === 'open');
  if (open.length === 0) return { verdict: over > 0 ? 'undecided' : 'unknown' };
  // From a sender and nonce that are made up, others would conclude that it was replaced.
  const most = open.find(
    (each) => 2 * open.filter((other) => same(each, other)).length > given.length && each.sender !== null,
  );
  return { verdict: 'open', sender: most?.sender ?? null, nonce: most?.nonce ?? null };
}

type Open = Extract<Testimony, { says: 'open' }>;
const same = (a: Open, b: Open): boolean => a.sender === b.sender && a.nonce === b.nonce;

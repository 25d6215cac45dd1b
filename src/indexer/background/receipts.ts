import { isObject } from '#ledger/chain/json-rpc';
import { acceptedClaim } from '#indexer/agreement/vote';
import { hex } from '#indexer/reading/raw-chain';
import { type Call, RpcError } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';

/** A block of the ledger, and those of its transactions whose gas is not known. */
export interface OpenBlock {
  number: number;
  hash: string;
  hashes: string[];
}

/** What a transaction cost: decimal strings. `l1Fee` is what chains of the OP stack take beside the gas. */
export interface Cost {
  used: string;
  price: string | null;
  l1Fee: string | null;
}

/** By transaction. */
export type Costs = Map<string, Cost>;

/** More transactions of one block are asked for by all receipts of that block. */
const MOST_SINGLE = 4;
/** Calls to one endpoint in a round. */
export const MOST_CALLS = 25;
/** What fits into the columns, and more than any chain needs. */
const QUANTITY = /^0x[0-9a-f]{1,32}$/i;

const singly = ({ hashes }: OpenBlock): Call[] => hashes.map((hash) => ['eth_getTransactionReceipt', [hash]]);
const callsFor = (block: OpenBlock): Call[] =>
  block.hashes.length <= MOST_SINGLE ? singly(block) : [['eth_getBlockReceipts', [hex(block.number)]]];

/** As many of the first blocks as one round may ask these endpoints for; at least one. */
export function affordable(blocks: OpenBlock[], endpoints: WatchedEndpoint[]): OpenBlock[] {
  const isPoor = endpoints.some(({ source }) => source.rpc.lacksBlockReceipts);
  let calls = 0;
  return blocks.filter(
    (block, i) => (calls += (isPoor ? singly : callsFor)(block).length) <= MOST_CALLS || i === 0,
  );
}

/**
 * Asks one endpoint, once: what it does not answer is asked another time, and counts neither for nor against it as a
 * reader. @throws RetryableChainError when it does not answer
 */
export async function ask(endpoint: WatchedEndpoint, blocks: OpenBlock[]): Promise<Costs> {
  const { rpc } = endpoint.source;
  const calls = blocks.flatMap(rpc.lacksBlockReceipts ? singly : callsFor).slice(0, MOST_CALLS);
  const answers = await rpc.settled(calls, 0);
  const refusals = answers.filter(
    (each, i) => calls[i][0] === 'eth_getBlockReceipts' && each instanceof RpcError,
  ) as RpcError[];
  if (refusals.length > 0) {
    const crowded = blocks.filter(({ hashes }) => hashes.length > MOST_SINGLE).flatMap(singly);
    const instead = await rpc.settled(crowded.slice(0, MOST_CALLS), 0);
    rpc.lacksBlockReceipts = refusals.some(({ isUnknownMethod }) => isUnknownMethod);
    answers.push(...instead);
  }
  return costsOf(answers.flat(), blocks);
}

/** Of transactions that were asked for, in the ledger's own block; whatever else a node sends is ignored. */
function costsOf(answers: unknown[], blocks: OpenBlock[]): Costs {
  const wanted = new Map(blocks.flatMap(({ hash, hashes }) => hashes.map((each) => [each, hash] as const)));
  const costs: Costs = new Map();
  for (const answer of answers.filter(isObject)) {
    const { transactionHash, blockHash, gasUsed, effectiveGasPrice, l1Fee } = answer;
    const values = [gasUsed, effectiveGasPrice ?? null, l1Fee ?? null].map(decimal);
    if (typeof transactionHash !== 'string' || blockHash !== wanted.get(transactionHash)) continue;
    const [used, price, fee] = values;
    if (typeof used === 'string' && price !== undefined && fee !== undefined)
      costs.set(transactionHash, { used, price, l1Fee: fee });
  }
  return costs;
}

/** @returns undefined if it is no quantity */
const decimal = (value: unknown): string | null | undefined =>
  value === null
    ? null
    : typeof value === 'string' && QUANTITY.test(value)
      ? BigInt(value).toString()
      : undefined;

/** What endpoints say of one transaction, by the vote on all that is read from the chain. */
export const agreed = (said: (Cost | undefined)[], agree: number): Cost | undefined =>
  said[
    acceptedClaim(
      said.map((cost) => cost && JSON.stringify(cost)),
      agree,
    )
  ];

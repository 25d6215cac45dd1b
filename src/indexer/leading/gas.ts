import type { Client } from 'pg';
import { hex } from '#indexer/reading/raw-chain';
import { type Call, type Rpc, RpcError } from '#indexer/reading/rpc';

interface Receipt {
  transactionHash: string;
  gasUsed: string;
  effectiveGasPrice?: string;
}

const BLOCKS_AT_ONCE = 50;
/** What fits into `gas_used` and `gas_price`. */
const QUANTITY = /^0x[0-9a-f]{1,16}$/i;

/**
 * Fills in the gas of confirmed transactions while the chain is idle, from the receipts of up to 50 blocks a call.
 * @returns whether any gas was filled in
 */
export async function fillGas(client: Client, rpc: Rpc): Promise<boolean> {
  const { rows } = await client.query<{ number: string; hashes: string[] }>(
    `SELECT block_number AS number, array_agg(DISTINCT tx_hash) AS hashes FROM transactions
     WHERE status = 'CONFIRMED' AND gas_used IS NULL GROUP BY block_number ORDER BY block_number DESC LIMIT $1`,
    [BLOCKS_AT_ONCE],
  );
  if (rows.length === 0) return false;
  const byBlock = rows.map(({ number }): Call => ['eth_getBlockReceipts', [hex(Number(number))]]);
  const byHash = rows.flatMap(({ hashes }) =>
    hashes.map((hash): Call => ['eth_getTransactionReceipt', [hash]]),
  );
  let answers = await rpc.settled(byBlock);
  // Not every node has this method.
  if (answers.some((answer) => answer instanceof RpcError)) answers = await rpc.settled(byHash.slice(0, 100));
  const receipts = answers.flat().filter(isReceipt);
  const decimal = (value = '0x0'): string => BigInt(value).toString();
  const filled = await client.query(
    `UPDATE transactions t SET gas_used = r.used, gas_price = r.price
     FROM unnest($1::text[], $2::numeric[], $3::numeric[]) AS r(hash, used, price)
     WHERE t.tx_hash = r.hash AND t.gas_used IS NULL`,
    [
      receipts.map((receipt) => receipt.transactionHash),
      receipts.map((receipt) => decimal(receipt.gasUsed)),
      receipts.map((receipt) => decimal(receipt.effectiveGasPrice)),
    ],
  );
  return (filled.rowCount ?? 0) > 0;
}

/** Gas is only for display, so anything else that a node sends is ignored. */
function isReceipt(answer: unknown): answer is Receipt {
  const { transactionHash, gasUsed, effectiveGasPrice = '0x0' } = (answer ?? {}) as Partial<Receipt>;
  return (
    typeof transactionHash === 'string' &&
    [gasUsed, effectiveGasPrice].every((value) => typeof value === 'string' && QUANTITY.test(value))
  );
}

import type { Client } from 'pg';
import { Rpc, RpcError } from './rpc';
import { hex } from './source';

interface Receipt {
  transactionHash: string;
  blockHash: string;
  gasUsed: string;
  effectiveGasPrice: string;
}

const BLOCKS_AT_ONCE = 50;

/**
 * Fills in gas of confirmed transactions while the chain rests: receipts of whole blocks, some fifty blocks a call.
 * @returns whether there was any to fill
 */
export async function fillGas(client: Client, rpc: Rpc): Promise<boolean> {
  const { rows } = await client.query<{ number: string; hashes: string[] }>(
    `SELECT block_number AS number, array_agg(DISTINCT tx_hash) AS hashes FROM transactions
     WHERE status = 'CONFIRMED' AND gas_used IS NULL GROUP BY block_number ORDER BY block_number DESC LIMIT $1`,
    [BLOCKS_AT_ONCE],
  );
  if (rows.length === 0) return false;
  const wanted = new Set(rows.flatMap(({ hashes }) => hashes));
  const receipts = await readReceipts(rpc, rows.map(({ number }) => Number(number)), [...wanted]);
  const found = receipts.filter((receipt) => receipt && wanted.has(receipt.transactionHash)) as Receipt[];
  const decimal = (value: string): string => BigInt(value).toString();
  const filled = await client.query(
    `UPDATE transactions t SET gas_used = r.used, gas_price = r.price
     FROM unnest($1::text[], $2::numeric[], $3::numeric[]) AS r(hash, used, price)
     WHERE t.tx_hash = r.hash AND t.gas_used IS NULL`,
    [
      found.map((receipt) => receipt.transactionHash),
      found.map((receipt) => decimal(receipt.gasUsed)),
      found.map((receipt) => decimal(receipt.effectiveGasPrice ?? '0x0')),
    ],
  );
  return (filled.rowCount ?? 0) > 0;
}

async function readReceipts(rpc: Rpc, blocks: number[], hashes: string[]): Promise<(Receipt | null)[]> {
  try {
    const found = await rpc.batch<(Receipt[] | null)[]>(
      blocks.map((number) => ['eth_getBlockReceipts', [hex(number)]]),
    );
    return found.flatMap((receipts) => receipts ?? []);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    // Not every node has the method.
    return rpc.batch<(Receipt | null)[]>(
      hashes.slice(0, 100).map((hash) => ['eth_getTransactionReceipt', [hash]]),
    );
  }
}

import type { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import type { Environment } from '../config/environment';
import type { Cursor } from './ledger';
import { NotThere, Source } from './source';

/** The node's chain is not the configured or the indexed one: nothing is read from it. */
export class WrongChain extends Error {}

interface Row {
  chain_id: string;
  genesis_hash: string;
  block_number: string;
  block_hash: string;
  time: string;
  epoch: string;
}

/**
 * Checks that the node's chain is ours, and takes the cursor over under a new epoch; on an empty database sets it
 * before START_BLOCK.
 * @throws WrongChain
 */
export async function openCursor(
  client: Client,
  source: Source,
  { CHAIN_ID, START_BLOCK, POOL_CONTRACTS }: Environment,
  logger?: Logger,
): Promise<Cursor> {
  const chainId = Number(await source.rpc.call<string>('eth_chainId'));
  if (CHAIN_ID !== undefined && chainId !== CHAIN_ID)
    throw new WrongChain(`the node is of chain ${chainId}, CHAIN_ID is ${CHAIN_ID}`);
  const first = START_BLOCK > 0 ? START_BLOCK - 1 : 0;
  const [genesis, start] = await source.blocks([0, first]);
  if (!genesis || !start) throw new NotThere(`block ${genesis ? first : 0}`);
  await client.query(
    `INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, beat_at)
     VALUES ($1, $2, $3, $4, to_timestamp($5::bigint), $3, now()) ON CONFLICT DO NOTHING`,
    [chainId, genesis.hash, start.number, start.hash, start.time],
  );
  await client.query(
    `INSERT INTO chain_blocks (number, hash, parent_hash, time)
     SELECT $1, $2, $3, to_timestamp($4::bigint) WHERE NOT EXISTS (SELECT FROM chain_blocks) ON CONFLICT DO NOTHING`,
    [start.number, start.hash, start.parentHash, start.time],
  );
  const known = await client.query<Row>('SELECT * FROM chain_cursor');
  const { chain_id: id, genesis_hash: hash } = known.rows[0]!;
  if (Number(id) !== chainId || hash !== genesis.hash)
    throw new WrongChain(
      `the database holds chain ${id} with genesis ${hash}, the node has chain ${chainId} with ${genesis.hash}`,
    );
  const { rows } = await client.query<Row>(
    `UPDATE chain_cursor SET epoch = epoch + 1, beat_at = now()
     RETURNING *, extract(epoch FROM block_time)::bigint AS time`,
  );
  const cursor = rows[0]!;
  if (logger) await checkContracts(source, POOL_CONTRACTS, logger);
  return {
    number: Number(cursor.block_number),
    hash: cursor.block_hash,
    parentHash: '',
    time: Number(cursor.time),
    epoch: Number(cursor.epoch),
  };
}

/** A wrong address would be indexed as a contract without events; it is said at the start. */
async function checkContracts(source: Source, contracts: Map<string, string>, logger: Logger): Promise<void> {
  for (const [type, address] of contracts) {
    const code = await source.rpc.call<string>('eth_getCode', address, 'latest');
    if (code === '0x') logger.error(`POOL_CONTRACTS: there is no contract at ${address} (${type})`);
  }
}

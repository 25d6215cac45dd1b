import type { Client } from 'pg';
import type { IndexerSettings } from '#settings/indexer.settings';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import type { EventWriter } from '#indexer/ledger/event-writer';
import { NodeBehind } from '#indexer/reading/block-batch';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import type { RpcEndpoints } from './rpc-endpoints';

/** The node's chain, the contracts or their token do not fit the database. Nothing is read. */
export class WrongChain extends Error {}

/**
 * Checks that the node has the database's chain, and takes over the cursor under a new epoch. An empty database gets a
 * cursor just before the first START_BLOCK.
 * @throws WrongChain
 */
export async function openCursor(
  client: Client,
  writer: EventWriter,
  { identity }: Pick<WatchedEndpoint, 'identity'>,
  endpoints: Pick<RpcEndpoints, 'blocks'>,
  { CHAIN_ID, START_BLOCK, POOL_CONTRACTS }: IndexerSettings,
): Promise<ChainCursor> {
  const { chainId } = identity!;
  if (CHAIN_ID !== undefined && chainId !== CHAIN_ID)
    throw new WrongChain(`the node is of chain ${chainId}, CHAIN_ID is ${CHAIN_ID}`);
  const first = Math.max(START_BLOCK.first([...POOL_CONTRACTS.values()].flat()) - 1, 0);
  const [genesis, start] = await endpoints.blocks([0, first]);
  if (!genesis || !start) throw new NodeBehind(`the node lacks block ${genesis ? first : 0}`);
  const made = await client.query(
    `INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, beat_at)
     VALUES ($1, $2, $3, $4, to_timestamp($5::bigint), $3, now()) ON CONFLICT DO NOTHING`,
    [chainId, genesis.hash, start.number, start.hash, start.time],
  );
  if (made.rowCount) await writer.blocks.keep([genesis, start]);
  const ours = [chainId, genesis.hash];
  const { rows } = await client.query<
    Record<'number' | 'hash' | 'time' | 'epoch' | 'applied', string> & { finalized: string | null }
  >(
    `UPDATE chain_cursor SET epoch = epoch + 1, state = 'disconnected', beat_at = now()
     WHERE chain_id = $1 AND genesis_hash = $2
     RETURNING block_number AS number, block_hash AS hash, extract(epoch FROM block_time)::bigint AS time, epoch,
       applied_number AS applied, finalized_number AS finalized`,
    ours,
  );
  if (!rows[0])
    throw new WrongChain(
      `the database holds another chain than the node's, ${chainId} with genesis ${genesis.hash}`,
    );
  const { number, hash, time, epoch, applied, finalized } = rows[0];
  return {
    number: Number(number),
    hash,
    parentHash: '',
    time: Number(time),
    epoch: Number(epoch),
    applied: Number(applied),
    finalized: finalized === null ? undefined : Number(finalized),
  };
}

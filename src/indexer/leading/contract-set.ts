import type { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import type { PoolType } from '#values/types';
import { WrongChain } from '#indexer/agreement/chain-identity';
import { type ChainCursor, LeadershipLost } from '#indexer/ledger/chain-cursor';
import { countCall, toCount } from '#indexer/reading/raw-chain';
import { NodeBehind } from '#indexer/reading/block-batch';
import type { Source } from '#indexer/reading/source';

interface Followed {
  type: PoolType;
  address: string;
}
const same =
  (one: Followed) =>
  (other: Followed): boolean =>
    one.type === other.type && one.address === other.address;

/**
 * Compares the configured contracts with those that the database followed up to the cursor, and stores the new set. A
 * contract may be added if it has no events before the cursor, and removed if it has no events at all. Any other
 * change would leave holes in the ledger, or rows that no configured contract explains.
 * @throws WrongChain with the address and what to do
 */
export async function followContracts(
  client: Client,
  source: Source,
  cursor: ChainCursor,
  configured: Map<PoolType, string[]>,
  logger: Logger,
): Promise<void> {
  const wanted = [...configured].flatMap(([type, addresses]) =>
    addresses.map((address, position) => ({ type, address, position })),
  );
  await reportMissingCode(source, wanted, logger);
  const { rows: known } = await client.query<Followed>('SELECT type, address FROM chain_contracts');
  for (const gone of known.filter((each) => !wanted.some(same(each)))) await mayGo(client, gone);
  // On a new database the event numbers show whether START_BLOCK is early enough.
  if (known.length > 0)
    for (const added of wanted.filter((each) => !known.some(same(each)))) {
      await mayCome(source, cursor, added);
      logger.log(`following ${added.address} (${added.type}) from block ${cursor.number + 1}`);
    }
  const { rows } = await client.query<{ led: boolean }>(REPLACE, [
    cursor.epoch,
    wanted.map(({ type }) => type),
    wanted.map(({ address }) => address),
    wanted.map(({ position }) => position),
    cursor.number + 1,
  ]);
  if (!rows[0].led) throw new LeadershipLost('another process leads');
}

/** One statement, so that only the current leader can change the set. */
const REPLACE = `
  WITH led AS (SELECT 1 FROM chain_cursor WHERE epoch = $1 FOR UPDATE),
  wanted AS MATERIALIZED (
    SELECT type, address, position FROM unnest($2::text[], $3::text[], $4::smallint[]) AS w(type, address, position)
    WHERE EXISTS (SELECT FROM led)
  ), gone AS (
    DELETE FROM chain_contracts c WHERE EXISTS (SELECT FROM led)
      AND NOT EXISTS (SELECT FROM wanted w WHERE w.type = c.type AND w.address = c.address)
  ), followed AS (
    INSERT INTO chain_contracts (type, address, position, from_block)
    SELECT type, address, position, $5 FROM wanted
    ON CONFLICT ON CONSTRAINT chain_contracts_pkey DO UPDATE SET position = excluded.position
  )
  SELECT EXISTS (SELECT FROM led) AS led`;

async function mayGo(client: Client, { type, address }: Followed): Promise<void> {
  const { rows } = await client.query<{ first: string }>(
    `SELECT block_number AS first FROM chain_events WHERE contract = $1 ORDER BY seq LIMIT 1`,
    [address],
  );
  if (!rows[0]) return;
  throw new WrongChain(
    `POOL_CONTRACTS no longer has ${type}=${address}, whose events are in the ledger. Name it again (the last ` +
      `contract of a type gets new pools), or take its events back: rewind --to ${Number(rows[0].first) - 1}`,
  );
}

async function mayCome(source: Source, cursor: ChainCursor, { type, address }: Followed): Promise<void> {
  const [answer] = await source.rpc.settled([countCall(address, cursor.number)]);
  const events = toCount(answer);
  if (events === undefined)
    throw new NodeBehind(
      `the node lacks the state of block ${cursor.number}, which tells whether ${address} has events before it`,
    );
  if (!events) return;
  throw new WrongChain(
    `POOL_CONTRACTS has ${type}=${address} anew, which has ${events} events up to block ${cursor.number} that were ` +
      `not read as such. Take the ledger back to before its first event, from where it is followed: rewind --to BLOCK`,
  );
}

/** A wrong address would be indexed as a contract without events, so report it at startup. */
async function reportMissingCode(source: Source, contracts: Followed[], logger: Logger): Promise<void> {
  for (const { type, address } of contracts) {
    const code = await source.rpc.call<string>('eth_getCode', address, 'latest');
    if (code === '0x') logger.error(`POOL_CONTRACTS: there is no contract at ${address} (${type})`);
  }
}

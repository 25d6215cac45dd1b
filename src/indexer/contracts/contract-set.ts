import type { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import type { PoolType } from '#values/types';
import type { IndexerSettings } from '#settings/indexer.settings';
import type { Adapter } from '#indexer/adapters/adapter';
import { WrongChain } from '#indexer/agreement/chain-identity';
import { type ChainCursor, LeadershipLost } from '#indexer/ledger/chain-cursor';
import { transaction } from '#indexer/ledger/transaction';
import { type Block, countCall, toCount } from '#indexer/reading/raw-chain';
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
 * Compares the configured contracts with those that the database knows, and stores the new set. A contract that is added
 * and may have events up to the cursor is read apart from its START_BLOCK on, until it reaches the cursor. One may be removed
 * if it has no events: otherwise no configured contract would explain rows of the ledger.
 * @throws WrongChain with the address and what to do
 */
export async function followContracts(
  client: Client,
  source: Source,
  cursor: ChainCursor,
  { POOL_CONTRACTS, START_BLOCK }: Pick<IndexerSettings, 'POOL_CONTRACTS' | 'START_BLOCK'>,
  logger: Logger,
  adapterOf: (address: string) => Adapter | undefined,
): Promise<void> {
  const wanted = [...POOL_CONTRACTS].flatMap(([type, addresses]) =>
    // The newest has the highest; those that new pools get only if they ask for it come before all others.
    addresses.map((address, at) => ({
      type,
      address,
      position: POOL_CONTRACTS.furtherOf(type).includes(address) ? -1 - at : at,
    })),
  );
  const { rows: known } = await client.query<Followed>('SELECT type, address FROM chain_contracts');
  for (const { type, address } of known.filter((each) => !wanted.some(same(each))))
    await refuseEvents(
      client,
      address,
      `no longer has ${type}=${address}, whose events are in the ledger`,
      'Name it again (the last contract of a type gets new pools), or take its events back',
    );
  const late = new Map<string, Block>();
  // On a new database the event numbers show whether START_BLOCK is early enough.
  if (known.length > 0)
    for (const { address, type } of wanted.filter((each) => !known.some(same(each)))) {
      await refuseEvents(
        client,
        address,
        `has ${type}=${address} again, whose events are in the ledger as those of another type`,
        'Take them back first',
      );
      const start = Math.max(START_BLOCK.of(address), 1);
      const isLate = start <= cursor.number && (await mayHaveEvents(source, cursor, address));
      if (isLate) {
        const [before] = await source.blocks([start - 1]);
        if (!before) throw new NodeBehind(`the node lacks block ${start - 1}`);
        late.set(address, before);
      }
      logger.log(`following ${address} (${type}) from block ${isLate ? start : cursor.number + 1}`);
    }
  const set = wanted.map((each) => {
    // Each contract in the settings has an adapter: otherwise the process does not start.
    const { poolsBy, isNumbered, verifiedAs, views, calls, errors } = adapterOf(each.address)!;
    return {
      ...each,
      pools_by: poolsBy,
      numbered: isNumbered,
      adapter: verifiedAs,
      balance_view: views?.balance,
      total_view: views?.total,
      price_view: views?.price,
      calls,
      errors,
      begins: late.get(each.address),
    };
  });
  await transaction(client, async () => {
    await client.query(WAIT_FOR_POOLS);
    const { rows } = await client.query<{ led: boolean }>(REPLACE, [
      cursor.epoch,
      cursor.number + 1,
      JSON.stringify(set),
    ]);
    if (!rows[0].led) throw new LeadershipLost('another process leads');
  });
}

/**
 * SQL: the pool that a wanted contract is: the one that its events are of, or that it was made, or else the first that was
 * made for it. No index finds that one, but it is looked for only at a start.
 */
const ITS_POOL = `coalesce(
  (SELECT n.pool_id FROM pool_names n WHERE n.stand_in = pool_stand_in(wanted.address, wanted.address)),
  (SELECT p.id FROM chain_contracts k JOIN pools p ON p.id = k.pool_id AND p.contract_address = k.address
    WHERE k.address = wanted.address AND p.type::text = wanted.type LIMIT 1),
  (SELECT p.id FROM pools p WHERE p.contract_address = wanted.address AND p.type::text = wanted.type
    AND EXISTS (SELECT FROM pool_totals t WHERE t.contract = wanted.address) ORDER BY p.id LIMIT 1))`;

/** Pools that are being made, as create_pools says: the next statement sees them, and those after it see the new set. */
const WAIT_FOR_POOLS = `SELECT pg_advisory_xact_lock(hashtextextended('followed contracts', 0))`;

/** One statement, so that only the current leader can change the set. */
const REPLACE = `
  WITH led AS (SELECT 1 FROM chain_cursor WHERE epoch = $1 FOR UPDATE),
  wanted AS MATERIALIZED (
    SELECT w.*, (begins->>'number')::bigint AS number, begins->>'hash' AS hash, (begins->>'time')::bigint AS time
    FROM jsonb_to_recordset($3::jsonb) AS w(type text, address text, position smallint, pools_by text, numbered boolean,
      adapter text, balance_view text, total_view text, price_view text, calls jsonb, errors jsonb,
      begins jsonb)
    WHERE EXISTS (SELECT FROM led)
  ), gone AS (
    DELETE FROM chain_contracts c WHERE EXISTS (SELECT FROM led)
      AND NOT EXISTS (SELECT FROM wanted w WHERE w.type = c.type AND w.address = c.address)
  ), left_off AS (
    DELETE FROM chain_contracts_apart a WHERE EXISTS (SELECT FROM led)
      AND NOT EXISTS (SELECT FROM wanted w WHERE w.address = a.address)
  ), late AS (
    INSERT INTO chain_contracts_apart (address, block_number, block_hash, block_time, state, reason)
    SELECT DISTINCT address, number, hash, to_timestamp(time), 'catching_up', 'new'
    FROM wanted WHERE begins IS NOT NULL
    ON CONFLICT DO NOTHING
  ), followed AS (
    INSERT INTO chain_contracts AS c (type, address, position, from_block, pools_by, numbered, adapter,
      balance_view, total_view, calls, price_view, errors, pool_id)
    SELECT type, address, position, coalesce(number + 1, $2), pools_by, numbered, adapter, balance_view, total_view,
      calls, price_view, errors, CASE pools_by WHEN 'contract' THEN ${ITS_POOL} END
    FROM wanted
    ON CONFLICT ON CONSTRAINT chain_contracts_pkey DO UPDATE SET position = excluded.position,
      pools_by = excluded.pools_by, numbered = excluded.numbered, adapter = excluded.adapter,
      balance_view = excluded.balance_view, total_view = excluded.total_view, calls = excluded.calls,
      price_view = excluded.price_view, errors = excluded.errors,
      pool_id = CASE WHEN excluded.pools_by = 'contract' THEN coalesce(excluded.pool_id, c.pool_id) END
  )
  SELECT EXISTS (SELECT FROM led) AS led`;

/** Rows of the ledger must have a contract that explains them. @throws WrongChain if the contract has events */
async function refuseEvents(client: Client, address: string, trouble: string, remedy: string): Promise<void> {
  const { rows } = await client.query<{ first: string }>(
    `SELECT block_number AS first FROM chain_events WHERE contract = $1 ORDER BY seq LIMIT 1`,
    [address],
  );
  if (!rows[0]) return;
  const rewind = `rewind --contract ${address} --to ${Number(rows[0].first) - 1}`;
  throw new WrongChain(`POOL_CONTRACTS ${trouble}. ${remedy}: ${rewind}`);
}

/** Only a count of zero proves that it has none. */
async function mayHaveEvents(source: Source, cursor: ChainCursor, address: string): Promise<boolean> {
  const [answer] = await source.rpc.settled([countCall(address, cursor.number)]);
  return toCount(answer) !== 0;
}

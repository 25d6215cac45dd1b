import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import type { ChainEvent } from '#indexer/reading/decode';
import {
  type Holding,
  type ShareEvent,
  type Vault,
  LEAST_TRADED,
  isOfShares,
  movementsOf,
  withFees,
  withSecond,
} from './movements';
import { MAX_LOGS } from '#indexer/reading/raw-chain';

/** What accounts have, and whether the vault is one pool. Parameters: vaults, accounts. */
const LOAD = `
  SELECT w.vault, w.account, coalesce(h.shares, 0)::text AS shares, coalesce(h.cost, 0)::text AS cost,
    EXISTS (SELECT FROM chain_contracts k WHERE k.address = w.vault AND k.pools_by = 'contract') AS "isPool"
  FROM unnest($1::text[], $2::text[]) AS w(vault, account)
  LEFT JOIN share_holdings h ON h.vault = w.vault AND h.account = w.account`;

/**
 * The last trade of each vault before an event that tells the price, as `movementsOf` says. Parameters: vaults, numbers of
 * their events.
 */
const LOAD_TRADES = `
  SELECT w.vault, t.amount::text, t.shares::text FROM unnest($1::text[], $2::bigint[]) AS w(vault, seq) CROSS JOIN LATERAL (
    SELECT e.amount + coalesce(o.amount, 0) AS amount, e.shares FROM chain_events e
    LEFT JOIN chain_events o ON o.contract = e.contract AND o.seq = e.seq + ${MAX_LOGS}
    WHERE e.contract = w.vault AND e.seq < w.seq AND e.log_index < ${MAX_LOGS}
      AND CASE e.kind WHEN 'Deposited' THEN o.kind IS NULL AND e.amount >= ${LEAST_TRADED} AND e.shares >= ${LEAST_TRADED}
        WHEN 'Withdrawn' THEN e.amount + o.amount >= ${LEAST_TRADED} AND e.shares > 0
        END
    ORDER BY e.seq DESC LIMIT 1) t`;

/** SQL: writes holdings as they are in the table `made`; those of nothing go. */
const save = (made: string): string => `
  ${made}, gone AS (
    DELETE FROM share_holdings h USING made m
    WHERE h.vault = m.vault AND h.account = m.account AND m.shares = 0 AND m.cost = 0
  )
  INSERT INTO share_holdings (vault, account, shares, cost)
  SELECT vault, account, shares, cost FROM made WHERE shares <> 0 OR cost <> 0
  ON CONFLICT ON CONSTRAINT share_holdings_pkey DO UPDATE SET shares = excluded.shares, cost = excluded.cost`;

/** Parameters: vaults, accounts, shares, costs. */
const SAVE = save(`
  WITH made AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::text[], $3::numeric[], $4::numeric[]) AS m(vault, account, shares, cost)
  )`);

/**
 * Rebuilds the holdings of accounts that have events after block $1 from the events up to it. Run it before the later ones
 * are deleted. Parameter 2: the vault whose events alone are meant, or null.
 */
export const TAKE_BACK = save(`
  WITH made AS MATERIALIZED (
    SELECT w.vault, w.account, coalesce(sum(CASE e.kind WHEN 'Deposited' THEN e.shares ELSE -e.shares END), 0) AS shares,
      coalesce(sum(CASE e.kind WHEN 'Deposited' THEN e.amount ELSE -e.amount END), 0) AS cost
    FROM (SELECT DISTINCT contract AS vault, account FROM chain_events
      WHERE block_number > $1 AND contract = coalesce($2::text, contract) AND shares IS NOT NULL) w
    LEFT JOIN chain_events e ON e.contract = w.vault AND e.account = w.account AND e.shares IS NOT NULL
      AND e.block_number <= $1 AND e.kind IN ('Deposited', 'Withdrawn')
    GROUP BY 1, 2
  )`);

interface Row {
  vault: string;
  account: string;
  shares: string;
  cost: string;
  isPool: boolean;
}

/**
 * The events that the logs are: two of those that say two things, and movements of money for those of vaults, whose
 * holdings it keeps. Call it once for each event, in the transaction that stores it, in the order of the chain.
 */
export async function asMovements(client: Client, read: ChainEvent[]): Promise<ChainEvent[]> {
  const events = read.some((event) => event.second) ? read.flatMap(withSecond) : read;
  const others = events.filter((event) => !isOfShares(event));
  // Most batches have none.
  if (others.length === events.length) return others;
  const ofShares = withFees(events.filter(isOfShares));
  if (ofShares.length === 0) return others;
  const holdings = await Holdings.load(client, ofShares);
  const movements = inOrder(ofShares).flatMap((event) => movementsOf(event, holdings.vault(event.contract)));
  await holdings.save(client);
  return [...others, ...movements];
}

const inOrder = (events: ShareEvent[]): ShareEvent[] =>
  events.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);

/** What the accounts of some events have. */
class Holdings {
  private readonly byKey = new Map<string, Holding & Pick<Row, 'vault' | 'account'>>();
  private readonly vaults = new Map<string, Vault>();

  static async load(client: Client, events: ShareEvent[]): Promise<Holdings> {
    const holdings = new Holdings();
    for (const { contract, account, poolName } of events)
      for (const each of [account, poolName]) holdings.of(contract, each);
    const wanted = [...holdings.byKey.values()];
    const { rows } = await client.query<Row>(LOAD, columnsOf(wanted, 'vault', 'account'));
    for (const { vault, account, shares, cost, isPool } of rows) {
      Object.assign(holdings.of(vault, account), { shares: BigInt(shares), cost: BigInt(cost) });
      if (isPool) holdings.vault(vault).isPool = true;
    }
    if (events.some(({ kind }) => kind === 'SharesMoved')) await holdings.loadTrades(client, events);
    return holdings;
  }

  private async loadTrades(client: Client, events: ShareEvent[]): Promise<void> {
    const first = new Map<string, number>();
    for (const { contract, seq } of events)
      first.set(contract, Math.min(seq, first.get(contract) ?? Infinity));
    const { rows } = await client.query<Pick<Row, 'vault' | 'shares'> & { amount: string }>(LOAD_TRADES, [
      [...first.keys()],
      [...first.values()],
    ]);
    for (const { vault, amount, shares } of rows)
      this.vault(vault).trade = { amount: BigInt(amount), shares: BigInt(shares) };
  }

  vault(address: string): Vault {
    let vault = this.vaults.get(address);
    if (!vault)
      this.vaults.set(
        address,
        (vault = { isPool: false, holdingOf: (account) => this.of(address, account) }),
      );
    return vault;
  }

  private of(vault: string, account: string): Holding {
    const key = `${vault} ${account}`;
    let holding = this.byKey.get(key);
    if (!holding) this.byKey.set(key, (holding = { vault, account, shares: 0n, cost: 0n }));
    return holding;
  }

  async save(client: Client): Promise<void> {
    await client.query(SAVE, columnsOf(this.byKey.values(), 'vault', 'account', 'shares', 'cost'));
  }
}

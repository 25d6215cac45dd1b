import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import type { ChainEvent } from '#indexer/reading/decode';
import {
  type Holding,
  type ShareEvent,
  type Vault,
  isOfShares,
  movementsOf,
  withFees,
  withSecond,
} from './movements';
import * as sql from './holdings.sql';

interface Row {
  vault: string;
  account: string;
  shares: string;
  cost: string;
  isPool: boolean;
}

/**
 * The events that the logs are: two of those that say two things, and movements of money for those of vaults, whose
 * holdings it keeps. Call it once for each event, in
 * the transaction that stores it, in the order of the chain.
 */
export async function asMovements(client: Client, read: ChainEvent[]): Promise<ChainEvent[]> {
  const events = read.some((event) => event.second) ? read.flatMap(withSecond) : read;
  const ofShares = withFees(events.filter(isOfShares));
  if (ofShares.length === 0) return events.filter((event) => !isOfShares(event));
  const holdings = await Holdings.load(client, ofShares);
  const movements = inOrder(ofShares).flatMap((event) => movementsOf(event, holdings.vault(event.contract)));
  await holdings.save(client);
  return [...events.filter((event) => !isOfShares(event)), ...movements];
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
    const { rows } = await client.query<Row>(sql.LOAD, columnsOf(wanted, 'vault', 'account'));
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
    const { rows } = await client.query<Pick<Row, 'vault' | 'shares'> & { amount: string }>(sql.LOAD_TRADES, [
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
    await client.query(sql.SAVE, columnsOf(this.byKey.values(), 'vault', 'account', 'shares', 'cost'));
  }
}

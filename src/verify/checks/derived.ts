import { compareDerived } from './compare';
import * as sql from './derived.sql';
import { type Look, halves } from './look';

/** Compares pools, their members and their ledger with each other. */
export async function comparePools(look: Look, ids: string[]): Promise<void> {
  look.findings.count('pools', ids.length);
  await compareDerived(look, sql.OF_POOLS, [ids]);
}

/** Sums of payments and pools of addresses. */
export async function compareAddresses(look: Look, addresses: string[]): Promise<void> {
  look.findings.count('addresses', addresses.length);
  await compareDerived(look, sql.OF_ADDRESSES, [addresses]);
}

/** @param keys contracts and ids of draws, separated by a blank */
export async function compareDraws(look: Look, keys: string[]): Promise<void> {
  const { findings } = look;
  findings.count('draws', keys.length);
  for (const isClear of [true, false]) {
    const some = keys.filter((key) => findings.isDisputed(key) !== isClear);
    if (some.length > 0) await compareDerived(look, sql.DRAWS, halves(some), isClear);
  }
}

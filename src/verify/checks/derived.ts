import { COMPARE_NAMES, COMPARE_POOLS } from '#verify/contract/names.sql';
import { compareDerived } from './compare';
import * as sql from './derived.sql';
import { type Look, type Value, halves } from './look';

/** Deposits and cancelled pools that one run reports at most. */
const MOST_UNPAID = 10_000;

/** What pools, their members and their ledger have of each other. */
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

/** The names that contracts give to pools, which `replay` rebuilds, and the contracts that are a single pool. */
export async function compareNames(look: Look): Promise<void> {
  await look.report('chain_contracts', await look.rows<Value>(COMPARE_POOLS));
  await look.report('pool_names', await look.rows<Value>(COMPARE_NAMES));
}

/** Hashes submitted for unpaid deposits, which a repair removes, and cancelled pools, which are left to a person. */
export async function compareUnpaid(look: Look): Promise<void> {
  const found = await look.rows<Value & { kind: string }>(sql.COMPARE_UNPAID, MOST_UNPAID);
  const [submitted, cancelled] = ['submissions', 'cancelled_pools'].map((kind) =>
    found.filter((each) => each.kind === kind).map((each) => ({ ...each, column: 'state' })),
  );
  await look.report('submissions', submitted, () =>
    look.client.query(sql.FORGET_SUBMISSIONS, [submitted.map(({ id }) => id)]),
  );
  await look.report('cancelled_pools', cancelled);
}

/** As the contract: see the yield model. */
const SCALE = 2n ** 128n;

/** A position as it is stored; `first` is the first accrual that it has not taken part in. */
export interface StoredPosition {
  account: string;
  balance: string;
  offset: string;
  owed: string;
  first: { time: string; perWeight: string; perUnit: string; lastPerUnit: string } | null;
}

/** What the account could claim now. */
export function claimable({ balance, offset, owed, first }: StoredPosition): bigint {
  if (!first) return BigInt(owed);
  const weight = BigInt(balance) * BigInt(first.time) - BigInt(offset);
  const later = BigInt(first.lastPerUnit) - BigInt(first.perUnit);
  return BigInt(owed) + (weight * BigInt(first.perWeight)) / SCALE + (BigInt(balance) * later) / SCALE;
}

import { type Hex, decodeEventLog, parseAbi, zeroAddress } from 'viem';

/** What logs of ERC-4626 say of shares. It shares no code with the adapter on purpose. */
const abi = parseAbi([
  'event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares)',
  'event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

/** One of the rows that a log has become. */
interface Row {
  kind: string;
  isSecond: boolean;
  /** Whether its contract is one pool. */
  isPool: boolean;
  /** Of the other row of the log. */
  otherAmount: string | null;
}
type Column = 'kind' | 'account' | 'pool_name' | 'shares' | 'amount';
export type OfShares = Partial<Record<Column, string | null>>;

/**
 * The columns of a row by its log; undefined for a log that is not of shares. Of what was paid out for shares, the second
 * row has to be what the first leaves: the share model tells how it is split, and what shares cost that are given.
 */
export function toldByVault(
  row: Row,
  log: { address: string; topics: unknown; data: Hex },
): OfShares | undefined {
  const ofAccount = (address: string): OfShares => ({
    account: address.toLowerCase(),
    pool_name: (row.isPool ? log.address : address).toLowerCase(),
  });
  try {
    const topics = log.topics as [Hex, ...Hex[]];
    const { eventName, args } = decodeEventLog({ abi, topics, data: log.data });
    if (eventName === 'Deposit') return bought(ofAccount(args.owner), args.assets, args.shares);
    if (eventName === 'Withdraw') return sold(row, ofAccount(args.owner), args.assets, args.shares);
    // Without such an event, shares are minted and burned for nothing.
    if (args.from === zeroAddress) return bought(ofAccount(args.to), 0n, args.value);
    if (args.to === zeroAddress) return sold(row, ofAccount(args.from), 0n, args.value);
    return given(row, ofAccount, args);
  } catch {
    return undefined;
  }
}

const bought = (own: OfShares, assets: bigint, shares: bigint): OfShares => ({
  kind: 'Deposited',
  ...own,
  amount: `${assets}`,
  shares: `${shares}`,
});

function sold(row: Row, own: OfShares, assets: bigint, shares: bigint): OfShares {
  if (row.isSecond)
    return { kind: 'YieldClaimed', ...own, amount: `${assets - BigInt(row.otherAmount ?? 0)}`, shares: '0' };
  return row.kind === 'SharesSold'
    ? { kind: row.kind, ...own, pool_name: own.account, amount: `${assets}`, shares: `${shares}` }
    : { kind: 'Withdrawn', ...own, shares: `${shares}` };
}

function given(
  { kind, isSecond }: Row,
  ofAccount: (address: string) => OfShares,
  { from, to, value }: { from: string; to: string; value: bigint },
): OfShares {
  const shares = `${value}`;
  if (isSecond) return { kind: 'Withdrawn', ...ofAccount(from), shares };
  if (kind !== 'SharesMoved') return { kind: 'Deposited', ...ofAccount(to), shares };
  return { kind, account: to.toLowerCase(), pool_name: from.toLowerCase(), shares, amount: null };
}

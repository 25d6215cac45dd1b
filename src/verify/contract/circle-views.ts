import { type Hex, encodeFunctionData, parseAbi } from 'viem';

/** What contracts/RotatingPool.sol tells of a circle. */
const abi = parseAbi([
  'function totalOf(uint64 circleId) view returns (uint256)',
  'function claimableOf(uint64 circleId, address account) view returns (uint256 payout, uint256 refund)',
]);

/** A circle as the ledger has it: amounts as decimal text. */
export interface StoredCircle {
  id: string;
  members: { account: string; payout: string; refund: string }[];
}

interface View<Call> {
  kind: string;
  id: string;
  wanted: bigint;
  call: Call;
}

/** The two words that `claimableOf` answers with, as one number. */
const pair = (payout: string, refund: string): bigint => (BigInt(payout) << 256n) | BigInt(refund);

/**
 * @param total of the pool by the ledger; null if it is not asked for
 * @param call that asks the contract
 */
export function circleViews<Call>(
  pool: string,
  { id, members }: StoredCircle,
  total: string | null,
  call: (data: Hex) => Call,
): View<Call>[] {
  const circle = BigInt(id);
  const totalOf = encodeFunctionData({ abi, functionName: 'totalOf', args: [circle] });
  return [
    ...(total === null
      ? []
      : [{ kind: 'chain.total', id: pool, wanted: BigInt(total), call: call(totalOf) }]),
    ...members.map(({ account, payout, refund }) => ({
      kind: 'chain.claimable',
      id: `${pool} ${account}`,
      wanted: pair(payout, refund),
      call: call(encodeFunctionData({ abi, functionName: 'claimableOf', args: [circle, account as Hex] })),
    })),
  ];
}

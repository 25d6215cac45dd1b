import { parseAbi } from 'viem';

const CIRCLE_EVENTS = [
  'event CircleOpened(uint64 indexed circleId, bytes16 indexed poolId, address indexed organiser, uint128 contribution, uint128 collateral, uint32 period, uint32 members, uint64 joinBy, uint64 seq)',
  'event MemberNamed(uint64 indexed circleId, bytes16 indexed poolId, address indexed account, uint32 place, uint64 seq)',
  'event Joined(uint64 indexed circleId, bytes16 indexed poolId, bytes16 ref, address indexed account, uint256 amount, uint64 seq)',
  'event CircleStarted(uint64 indexed circleId, bytes16 indexed poolId, uint64 roundEnd, uint64 seq)',
  'event Contributed(uint64 indexed circleId, bytes16 indexed poolId, bytes16 ref, address indexed account, uint32 round, uint256 amount, uint64 seq)',
  'event CollateralUsed(uint64 indexed circleId, bytes16 indexed poolId, address indexed account, uint32 round, uint256 amount, uint64 seq)',
  'event RoundEnded(uint64 indexed circleId, bytes16 indexed poolId, address indexed account, uint32 round, uint256 amount, uint64 nextEnd, uint64 seq)',
  'event CircleCompleted(uint64 indexed circleId, bytes16 indexed poolId, uint64 seq)',
  'event CircleCancelled(uint64 indexed circleId, bytes16 indexed poolId, uint64 seq)',
  'event PaidOut(uint64 indexed circleId, bytes16 indexed poolId, bytes16 ref, address indexed account, uint256 amount, uint64 seq)',
  'event CircleRefunded(uint64 indexed circleId, bytes16 indexed poolId, bytes16 ref, address indexed account, uint256 amount, uint64 seq)',
] as const;

const CIRCLE_CALLS = [
  'function openCircle(bytes16 poolId, uint128 contribution, uint128 collateral, uint32 period, uint64 joinBy, address[] members)',
  'function join(uint64 circleId, bytes16 ref)',
  'function contribute(uint64 circleId, bytes16 ref)',
  'function endRound(uint64 circleId)',
  'function claimPayout(uint64 circleId, bytes16 ref)',
  'function claimRefund(uint64 circleId, bytes16 ref)',
  'function cancelCircle(uint64 circleId)',
  'function seq() view returns (uint64)',
  'function activeCount() view returns (uint256)',
] as const;

/** contracts/RotatingPool.sol, as the service and clients use it. */
export const rotatingPoolAbi = parseAbi([...CIRCLE_EVENTS, ...CIRCLE_CALLS]);

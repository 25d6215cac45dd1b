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

const SEQ = ['function seq() view returns (uint64)'] as const;

/** What the indexer needs from a contract of circles. Any contract that has all of this can be used. */
export const circleAbi = parseAbi([...CIRCLE_EVENTS, ...SEQ]);

/** For clients: the reference contract of circles, with the errors it reverts with. */
export const rotatingPoolAbi = parseAbi([
  ...CIRCLE_EVENTS,
  ...SEQ,
  'struct Circle { bytes16 poolId; uint64 until; uint64 listed; uint128 contribution; uint128 collateral; address organiser; uint32 period; uint32 round; uint8 status; uint8 members; uint8 joined; uint8 paid; }',
  'struct Member { address account; uint32 paidRound; uint8 missed; bool joined; bool paidOut; bool refunded; }',
  'function token() view returns (address)',
  'function minimumDeposit() view returns (uint256)',
  'function circles() view returns (uint64)',
  'function circleOf(uint64 circleId) view returns (Circle)',
  'function memberOf(uint64 circleId, address account) view returns (Member member)',
  'function membersOf(uint64 circleId) view returns (Member[])',
  'function claimableOf(uint64 circleId, address account) view returns (uint256 payout, uint256 refund)',
  'function totalOf(uint64 circleId) view returns (uint256 total)',
  'function dueOf(uint64 circleId) view returns (uint8)',
  'function activeCount() view returns (uint256)',
  'function activeAt(uint256 i) view returns (uint64 circleId)',
  'function openCircle(bytes16 poolId, uint128 contribution, uint128 collateral, uint32 period, uint64 joinBy, address[] members) returns (uint64 circleId)',
  'function join(uint64 circleId, bytes16 ref)',
  'function joinWithPermit(uint64 circleId, bytes16 ref, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'function contribute(uint64 circleId, bytes16 ref)',
  'function contributeWithPermit(uint64 circleId, bytes16 ref, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'function endRound(uint64 circleId)',
  'function cancelCircle(uint64 circleId)',
  'function claimPayout(uint64 circleId, bytes16 ref)',
  'function claimRefund(uint64 circleId, bytes16 ref)',
  'error ZeroAmount()',
  'error BelowMinimum(uint256 minimum)',
  'error UnsupportedToken()',
  'error WrongStatus(uint8 status)',
  'error WrongMemberCount()',
  'error WrongMember(address account)',
  'error WrongPeriod()',
  'error WrongJoinBy()',
  'error NotMember()',
  'error AlreadyJoined()',
  'error AlreadyPaid()',
  'error TooEarly()',
  'error TooLate()',
  'error NotAllowed()',
  'error NothingToClaim()',
  'error NothingToRefund()',
  'error SafeERC20FailedOperation(address token)',
]);

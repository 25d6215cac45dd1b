import { parseAbi } from 'viem';

const POOL_EVENTS = [
  'event Deposited(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
  'event Withdrawn(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
  'event YieldClaimed(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
  'event YieldAccrued(bytes16 indexed poolId, uint256 amount, uint32 aprBps, uint64 seq)',
  'event CompoundingStarted(bytes16 indexed poolId, address indexed account, uint64 seq)',
  'event CompoundingStopped(bytes16 indexed poolId, address indexed account, uint64 seq)',
] as const;

const DRAW_EVENTS = [
  'event DrawOpened(uint64 indexed drawId, uint256 ticketPrice, uint64 drawTime, uint64 seq)',
  'event TicketsIssued(uint64 indexed drawId, address indexed account, uint256 count, uint64 seq)',
  'event PrizeFunded(uint64 indexed drawId, address indexed funder, uint256 amount, uint64 seq)',
  'event DrawClosed(uint64 indexed drawId, uint64 seq)',
  'event DrawCompleted(uint64 indexed drawId, address indexed winner, uint256 prize, uint64 seq)',
  'event DrawCancelled(uint64 indexed drawId, uint64 seq)',
  'event PrizePaid(uint64 indexed drawId, address indexed winner, uint256 amount, uint64 seq)',
  'event Refunded(uint64 indexed drawId, address indexed account, uint256 amount, uint64 seq)',
] as const;

const SEQ = ['function seq() view returns (uint64)'] as const;

/** What the indexer needs from a contract. Any contract that has all of this can be used. */
export const contractAbi = parseAbi([...POOL_EVENTS, ...DRAW_EVENTS, ...SEQ]);

/** What the reference contracts offer to savers, with the errors they revert with. */
const SAVING = [
  'function token() view returns (address)',
  'function minimumDeposit() view returns (uint256)',
  'function totalOf(bytes16 poolId) view returns (uint256)',
  'function balanceOf(bytes16 poolId, address account) view returns (uint256)',
  'function claimableOf(bytes16 poolId, address account) view returns (uint256 owed)',
  'function deposit(bytes16 poolId, bytes16 ref, uint256 amount)',
  'function depositWithPermit(bytes16 poolId, bytes16 ref, uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'function withdraw(bytes16 poolId, bytes16 ref, uint256 amount)',
  'function claimYield(bytes16 poolId, bytes16 ref)',
  'function isCompounding(bytes16 poolId, address account) view returns (bool)',
  'function compoundableOf(bytes16 poolId, address account) view returns (uint256 amount)',
  'function startCompounding(bytes16 poolId)',
  'function stopCompounding(bytes16 poolId)',
  'function compound(bytes16[] poolIds, address[] accounts)',
  'error ZeroAmount()',
  'error BelowMinimum(uint256 minimum)',
  'error PoolFull()',
  'error InsufficientBalance(uint256 balance, uint256 needed)',
  'error NothingToClaim()',
  'error NothingToChange()',
  'error UnsupportedToken()',
  'error SafeERC20FailedOperation(address token)',
] as const;

const DRAWING = [
  'function currentDraw() view returns (uint64)',
  'function ticketsOf(uint64 drawId, address account) view returns (uint256)',
  'function refundableOf(uint64 drawId, address account) view returns (uint256)',
  'function buyTickets(uint64 drawId, uint256 count)',
  'function buyTicketsWithPermit(uint64 drawId, uint256 count, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'function fundPrize(uint64 drawId, uint256 amount)',
  'function completeDraw(uint64 drawId)',
  'function claimPrize(uint64 drawId)',
  'function claimPrizeTo(uint64 drawId, address recipient)',
  'function cancelDraw(uint64 drawId)',
  'function refund(uint64 drawId)',
  'error WrongStatus(uint8 status)',
  'error DrawTimePassed()',
  'error HashUnavailable()',
  'error NotAllowed()',
  'error NothingToRefund()',
  'error SafeCastOverflowedUintDowncast(uint8 bits, uint256 value)',
] as const;

/** For clients: contracts of all types but the one with draws. */
export const savingsPoolAbi = parseAbi([...POOL_EVENTS, ...SEQ, ...SAVING]);

/** For clients: lottery contracts are savings pools with draws. */
export const lotteryPoolAbi = parseAbi([...POOL_EVENTS, ...DRAW_EVENTS, ...SEQ, ...SAVING, ...DRAWING]);

/** For clients: what paying takes of the ERC-20 token. */
export const tokenAbi = parseAbi([
  'function approve(address spender, uint256 value) returns (bool)',
  'function allowance(address owner, address spender) view returns (uint256)',
  'function balanceOf(address account) view returns (uint256)',
  'function decimals() view returns (uint8)',
  'function symbol() view returns (string)',
  'function name() view returns (string)',
  'function nonces(address owner) view returns (uint256)',
  'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)',
  'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC2612ExpiredSignature(uint256 deadline)',
  'error ERC2612InvalidSigner(address signer, address owner)',
]);

import { parseAbi } from 'viem';

/** What a contract tells, as its interface is documented. The indexer decodes by a layout of its own. */
export const eventsAbi = parseAbi([
  'event Deposited(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
  'event Withdrawn(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
  'event YieldClaimed(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
  'event YieldAccrued(bytes16 indexed poolId, uint256 amount, uint32 aprBps, uint64 seq)',
  'event CompoundingStarted(bytes16 indexed poolId, address indexed account, uint64 seq)',
  'event CompoundingStopped(bytes16 indexed poolId, address indexed account, uint64 seq)',
  'event DrawOpened(uint64 indexed drawId, uint256 ticketPrice, uint64 drawTime, uint64 seq)',
  'event TicketsIssued(uint64 indexed drawId, address indexed account, uint256 count, uint64 seq)',
  'event PrizeFunded(uint64 indexed drawId, address indexed funder, uint256 amount, uint64 seq)',
  'event DrawClosed(uint64 indexed drawId, uint64 seq)',
  'event DrawCompleted(uint64 indexed drawId, address indexed winner, uint256 prize, uint64 seq)',
  'event DrawCancelled(uint64 indexed drawId, uint64 seq)',
  'event PrizePaid(uint64 indexed drawId, address indexed winner, uint256 amount, uint64 seq)',
  'event Refunded(uint64 indexed drawId, address indexed account, uint256 amount, uint64 seq)',
]);

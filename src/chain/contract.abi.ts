import { parseAbi } from 'viem';

/** All that the service needs of a contract. A deployment may bring its own contracts if they have this. */
export const contractAbi = parseAbi([
  'event Deposited(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
  'event Withdrawn(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
  'event YieldClaimed(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
  'event YieldAccrued(bytes16 indexed poolId, uint256 amount, uint32 aprBps, uint64 seq)',
  'event DrawOpened(uint64 indexed drawId, uint256 ticketPrice, uint64 drawTime, uint64 seq)',
  'event TicketsIssued(uint64 indexed drawId, address indexed account, uint256 count, uint64 seq)',
  'event PrizeFunded(uint64 indexed drawId, address indexed funder, uint256 amount, uint64 seq)',
  'event DrawClosed(uint64 indexed drawId, uint64 seq)',
  'event DrawCompleted(uint64 indexed drawId, address indexed winner, uint256 prize, uint64 seq)',
  'event DrawCancelled(uint64 indexed drawId, uint64 seq)',
  'function seq() view returns (uint64)',
]);

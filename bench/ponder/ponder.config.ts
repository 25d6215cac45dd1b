import { createConfig } from 'ponder';
import { parseAbi } from 'viem';

const environment = (name: string): string => process.env[name]!;

export default createConfig({
  database: {
    kind: 'postgres',
    connectionString: environment('DATABASE_URL'),
    poolConfig: { max: 30 },
  },
  chains: { main: { id: 1, rpc: environment('PEER_RPC').split(',') } },
  contracts: {
    Pool: {
      abi: parseAbi([
        'event Deposited(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
        'event Withdrawn(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
        'event YieldClaimed(bytes16 indexed poolId, bytes16 indexed ref, address indexed account, uint256 amount, uint64 seq)',
        'event YieldAccrued(bytes16 indexed poolId, uint256 amount, uint32 aprBps, uint64 seq)',
      ]),
      chain: 'main',
      address: environment('PEER_CONTRACT'),
      startBlock: 1,
      endBlock: Number(environment('PEER_HEAD')),
    },
  },
});

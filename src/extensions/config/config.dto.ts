import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';
import { POOL_CALLS, type PoolCall } from '#ledger/chain/chain.sql';
import { FieldsByType } from '#ledger/chain/fields-by-type';

const ADDRESS = { type: String, pattern: STORED_ADDRESS } as const;
const ADDRESSES = { type: String, isArray: true } as const;
const MINIMUM = {
  type: String,
  pattern: AMOUNT,
  nullable: true,
  description: 'null until the indexer has read it, or if the contract has none',
} as const;
const ABI = { type: 'array', items: { type: 'object', additionalProperties: true } } as const;

export class TokenInfo {
  @ApiProperty(ADDRESS) address: string;
  @ApiProperty({ description: 'Empty if the token has none' }) symbol: string;
  @ApiProperty({ type: 'integer', description: 'Of one token there are 10^decimals units' }) decimals: number;
}

export class ChainCurrency {
  @ApiProperty({ example: 'Ether' }) name: string;
  @ApiProperty({ example: 'ETH' }) symbol: string;
  @ApiProperty({ type: 'integer' }) decimals: number;
}

export class ChainInfo {
  @ApiProperty({ type: 'integer', example: 31_337 }) id: number;
  @ApiProperty({ example: 'Local chain' }) name: string;
  @ApiProperty({ type: ChainCurrency, description: 'What fees are paid in' }) currency: ChainCurrency;
  @ApiProperty({
    type: [String],
    example: ['http://127.0.0.1:8545'],
    description: 'Nodes that wallets may use, the preferred one first; may be empty',
  })
  rpcUrls: string[];
  @ApiProperty({
    type: String,
    nullable: true,
    example: 'https://explorer.example.org',
    description: 'Shows a transaction at `/tx/<hash>`',
  })
  explorerUrl: string | null;
}

export class PoolContracts extends FieldsByType<string | null>({
  ...ADDRESS,
  nullable: true,
  description: 'null if the service has no contract for new pools of the type',
}) {}

export class ContractLists extends FieldsByType<string[]>(ADDRESSES) {}

export class ContractMinimums extends FieldsByType<string | null>(MINIMUM) {}

export class SignInRules {
  @ApiProperty({ type: [String], description: 'Hosts that may ask for a signature; empty: any' })
  domains: string[];
  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Messages for another chain are refused; null: any',
  })
  chainId: number | null;
  @ApiProperty({ type: 'integer' }) nonceLifetimeSeconds: number;
  @ApiProperty({ type: 'integer' }) tokenLifetimeSeconds: number;
}

@ApiExtraModels(TokenInfo)
export class ClientConfig {
  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'null until the indexer has read it from the chain',
  })
  chainId: number | null;
  @ApiProperty({
    type: ChainInfo,
    nullable: true,
    description:
      'What a wallet needs that does not know the chain (EIP-3085). null until the indexer has read it from the chain',
  })
  chain: ChainInfo | null;
  @ApiProperty({
    type: TokenInfo,
    nullable: true,
    description:
      'The first of the contracts, in which sums are. null until the indexer has read it from the chain',
  })
  token: TokenInfo | null;
  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(TokenInfo) },
    example: {
      '0xdc64a140aa3e981100a9beca4e685f962f0cf6c9': {
        address: '0x5fbdb2315678afecb367f032d93f642f64180aa3',
        symbol: 'USDC',
        decimals: 6,
      },
    },
    description: 'By the address of each contract, its token, once the indexer has read it',
  })
  contractTokens: Record<string, TokenInfo>;
  @ApiProperty({ type: PoolContracts, description: 'Of new pools' }) contracts: PoolContracts;
  @ApiProperty({ type: ContractLists, description: 'Of new pools that ask for it, by `contract`' })
  furtherContracts: ContractLists;
  @ApiProperty({ type: ContractLists, description: 'Older ones, whose pools stay' })
  formerContracts: ContractLists;
  @ApiProperty({ pattern: AMOUNT, description: 'Smallest first deposit of a pool, in smallest token units' })
  minimumDeposit: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string', pattern: AMOUNT },
    example: { '0xdc64a140aa3e981100a9beca4e685f962f0cf6c9': '10000000' },
    description: 'The same, by address, of contracts where it is another',
  })
  minimumDeposits: Record<string, string>;
  @ApiProperty({
    type: ContractMinimums,
    description: 'Smallest deposit that the contracts take, and smallest withdrawal that leaves something',
  })
  contractMinimums: ContractMinimums;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string', enum: [...POOL_CALLS] } },
    example: { '0xdc64a140aa3e981100a9beca4e685f962f0cf6c9': ['deposit', 'withdraw'] },
    description:
      'By the address of each contract, the calls that the service builds for its pools (`/pools/{id}/calls/…`), once the indexer has read it. What is not among them a wallet has to be told elsewhere',
  })
  contractCalls: Record<string, PoolCall[]>;
  @ApiProperty({
    ...ADDRESSES,
    description:
      'Contracts that know a pool by its account. Its calls are for the owner alone, 403 for members',
  })
  contractsByAccount: string[];
  @ApiProperty({ type: SignInRules }) signIn: SignInRules;
  @ApiProperty({
    description: 'Whether `/analytics/pools`, `/lottery/current` and `/lottery/winners` need no token',
  })
  publicStatistics: boolean;
  @ApiProperty({
    required: false,
    description: 'The chain of this machine; in development only',
    example: 'http://127.0.0.1:8545',
  })
  rpcUrl?: string;
}

export class ContractAbis {
  @ApiProperty({ ...ABI, description: 'Contracts of pools without draws and circles' })
  savingsPool: unknown[];
  @ApiProperty({ ...ABI, description: 'Lottery contracts' }) lotteryPool: unknown[];
  @ApiProperty({ ...ABI, description: 'Contracts of savings circles' }) rotatingPool: unknown[];
  @ApiProperty({ ...ABI, description: 'What paying takes of the ERC-20 token' }) token: unknown[];
}

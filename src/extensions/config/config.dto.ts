import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';
import { ApiAddress, ApiAmount, ApiInteger } from '#platform/openapi/fields';
import { POOL_CALLS, type PoolCall } from '#ledger/chain/chain.sql';
import { FieldsByType } from '#ledger/chain/fields-by-type';

const ADDRESSES = { type: String, isArray: true } as const;
const CONTRACT = '0xdc64a140aa3e981100a9beca4e685f962f0cf6c9';
const TOKEN = '0x5fbdb2315678afecb367f032d93f642f64180aa3';
const ABI = { type: 'array', items: { type: 'object', additionalProperties: true } } as const;

export class TokenInfo {
  @ApiAddress("`0xeeee…eeee` for the chain's own coin, as in ERC-7528") address: string;
  @ApiProperty({ description: 'Symbol; empty if the token has none' }) symbol: string;
  @ApiInteger('One token has 10^decimals units') decimals: number;
}

export class ChainCurrency {
  @ApiProperty({ example: 'Ether' }) name: string;
  @ApiProperty({ example: 'ETH' }) symbol: string;
  @ApiInteger() decimals: number;
}

export class ChainInfo {
  @ApiInteger(undefined, { example: 31_337 }) id: number;
  @ApiProperty({ example: 'Local chain' }) name: string;
  @ApiProperty({ type: ChainCurrency, description: 'Currency of fees' }) currency: ChainCurrency;
  @ApiProperty({
    type: [String],
    example: ['http://127.0.0.1:8545'],
    description: 'Nodes for wallets, the preferred one first; can be empty',
  })
  rpcUrls: string[];
  @ApiProperty({
    type: String,
    nullable: true,
    example: 'https://explorer.example.org',
    description: 'Block explorer, which shows a transaction at `/tx/<hash>`',
  })
  explorerUrl: string | null;
}

export class PoolContracts extends FieldsByType<string | null>({
  type: String,
  pattern: STORED_ADDRESS,
  nullable: true,
  description: 'Contract for new pools of the type; null if there is none',
}) {}

export class ContractLists extends FieldsByType<string[]>(ADDRESSES) {}

export class ContractMinimums extends FieldsByType<string | null>({
  type: String,
  pattern: AMOUNT,
  nullable: true,
  description: 'Minimum in smallest units; null until the indexer has read it, or if the contract has none',
}) {}

export class SignInRules {
  @ApiProperty({ type: [String], description: 'Hosts that can request a signature; empty allows any' })
  domains: string[];
  @ApiInteger('Chain that messages must name; null allows any', { nullable: true }) chainId: number | null;
  @ApiInteger() nonceLifetimeSeconds: number;
  @ApiInteger() tokenLifetimeSeconds: number;
}

@ApiExtraModels(TokenInfo)
export class ClientConfig {
  @ApiInteger('Chain id; null until the indexer has read it', { nullable: true }) chainId: number | null;
  @ApiProperty({
    type: ChainInfo,
    nullable: true,
    description: 'Data for wallets (EIP-3085); null while `chainId` is',
  })
  chain: ChainInfo | null;
  @ApiProperty({
    type: TokenInfo,
    nullable: true,
    description: 'Token of the sums; null until the indexer has read it',
  })
  token: TokenInfo | null;
  @ApiProperty({
    type: 'object',
    additionalProperties: { $ref: getSchemaPath(TokenInfo) },
    example: { [CONTRACT]: { address: TOKEN, symbol: 'USDC', decimals: 6 } },
    description: 'Token by contract address, once the indexer has read it',
  })
  contractTokens: Record<string, TokenInfo>;
  @ApiProperty({ type: PoolContracts, description: 'Contracts of new pools, by type' })
  contracts: PoolContracts;
  @ApiProperty({ type: ContractLists, description: 'Further contracts of new pools, chosen by `contract`' })
  furtherContracts: ContractLists;
  @ApiProperty({ type: ContractLists, description: 'Older contracts, whose pools stay' })
  formerContracts: ContractLists;
  @ApiAmount('Smallest first deposit of a pool, in smallest token units') minimumDeposit: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string', pattern: AMOUNT },
    example: { [CONTRACT]: '10000000' },
    description: 'Different minimums, by contract address',
  })
  minimumDeposits: Record<string, string>;
  @ApiProperty({
    type: ContractMinimums,
    description: 'Smallest deposit of each contract, and smallest partial withdrawal',
  })
  contractMinimums: ContractMinimums;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string', enum: [...POOL_CALLS] } },
    example: { [CONTRACT]: ['deposit', 'withdraw'] },
    description: 'Calls under `/pools/{id}/calls`, by contract address, once the indexer has read it',
  })
  contractCalls: Record<string, PoolCall[]>;
  @ApiProperty({
    ...ADDRESSES,
    description: 'Contracts whose calls are for the owner of a pool alone, 403 for members',
  })
  contractsByAccount: string[];
  @ApiProperty({ type: SignInRules }) signIn: SignInRules;
  @ApiProperty({
    description: 'Whether `/analytics/pools`, `/lottery/current` and `/lottery/winners` need no token',
  })
  publicStatistics: boolean;
  @ApiProperty({
    required: false,
    description: 'Endpoint of the local chain, in development only',
    example: 'http://127.0.0.1:8545',
  })
  rpcUrl?: string;
}

export class ContractAbis {
  @ApiProperty({ ...ABI, description: 'ABI of pool contracts without draws and circles' })
  savingsPool: unknown[];
  @ApiProperty({ ...ABI, description: 'ABI of lottery contracts' }) lotteryPool: unknown[];
  @ApiProperty({ ...ABI, description: 'ABI of contracts of savings circles' }) rotatingPool: unknown[];
  @ApiProperty({ ...ABI, description: 'ABI of the ERC-20 functions that payments need' }) token: unknown[];
}

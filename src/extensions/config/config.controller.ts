import { Controller, Get, Header, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { byPoolType } from '#values/types';
import { JsonText } from '#platform/answers/json-text';
import { Database } from '#platform/database/database';
import { ApiData } from '#platform/openapi/api-docs';
import { CHAIN_FACTS } from '#ledger/chain/chain.sql';
import { lotteryPoolAbi, savingsPoolAbi, tokenAbi } from '#ledger/chain/contract.abi';
import { localRpcUrl } from '#ledger/chain/endpoints';
import { rotatingPoolAbi } from '#ledger/chain/rotating.abi';
import { AccessSettings } from '#features/access/access.settings';
import { Public } from '#features/access/auth.guard';
import { NONCE_LIFETIME_SECONDS, TOKEN_LIFETIME_SECONDS } from '#features/access/lifetimes';
import { AuthSettings } from '#features/auth/auth.settings';
import { PoolsSettings } from '#features/pools/pools.settings';
import { ClientConfig, ContractAbis } from './config.dto';
import { ClientConfigSettings } from './config.settings';
import { chainInfo } from './wallet-chain';

const ABIS = new JsonText<ContractAbis>(
  JSON.stringify({
    savingsPool: savingsPoolAbi,
    lotteryPool: lotteryPoolAbi,
    rotatingPool: rotatingPoolAbi,
    token: tokenAbi,
  }),
);

@Controller('config')
@Public()
export class ConfigController {
  constructor(
    private readonly database: Database,
    private readonly wallets: ClientConfigSettings,
    private readonly pools: PoolsSettings,
    private readonly chain: AuthSettings,
    private readonly access: AccessSettings,
  ) {}

  @Get()
  @ApiData(ClientConfig, {
    summary: 'Get chain, token, contracts and rules',
    description: 'Returns what a client needs before it signs in or pays. Caches can store it for a minute.',
  })
  async read(@Res({ passthrough: true }) reply: FastifyReply): Promise<ClientConfig> {
    const facts = await this.database.read(CHAIN_FACTS, {});
    // Until the chain is known, clients should ask again soon.
    if (facts?.address) void reply.header('cache-control', 'public, max-age=60');
    const { SIWE_DOMAINS, CHAIN_ID, POOL_CONTRACTS: contracts } = this.chain;
    const chainId = facts ? Number(facts.chainId) : null;
    // The chain of this machine; in development only.
    const rpcUrl = localRpcUrl(this.chain);
    return {
      chainId,
      chain: chainId === null ? null : chainInfo(chainId, this.wallets, rpcUrl),
      token: facts?.address
        ? { address: facts.address, symbol: facts.symbol, decimals: facts.decimals }
        : null,
      contractTokens: facts?.tokens ?? {},
      contractMinimums: byPoolType((type) => facts?.minimums?.[type] ?? null),
      contractCalls: facts?.calls ?? {},
      contractsByAccount: facts?.byAccount ?? [],
      contracts: byPoolType((type) => contracts.newest(type)),
      furtherContracts: byPoolType((type) => [...contracts.furtherOf(type)]),
      formerContracts: byPoolType((type) => contracts.formerOf(type)),
      minimumDeposit: BigInt(this.pools.MIN_DEPOSIT).toString(),
      minimumDeposits: Object.fromEntries(this.pools.MIN_DEPOSITS),
      signIn: {
        domains: SIWE_DOMAINS,
        chainId: CHAIN_ID ?? null,
        nonceLifetimeSeconds: NONCE_LIFETIME_SECONDS,
        tokenLifetimeSeconds: TOKEN_LIFETIME_SECONDS,
      },
      publicStatistics: this.access.PUBLIC_STATISTICS,
      ...(rpcUrl && { rpcUrl }),
    };
  }

  @Get('abi')
  @ApiData(ContractAbis, {
    summary: 'Get the ABI of contracts and token',
    description:
      'Returns the functions that savers call and read, and the errors with which these calls revert.',
  })
  @Header('cache-control', 'public, max-age=3600')
  abi(): JsonText<ContractAbis> {
    return ABIS;
  }
}

import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { byPoolType } from '#values/types';
import { ChainSettings } from '#ledger/chain/chain.settings';
import { AccessSettings } from '#features/access/access.settings';
import { NONCE_LIFETIME_SECONDS, TOKEN_LIFETIME_SECONDS } from '#features/access/lifetimes';
import { AuthSettings } from '#features/auth/auth.settings';
import { PoolsSettings } from '#features/pools/pools.settings';
import type { ClientConfig } from './config.dto';
import { WalletChain } from './wallet-chain';

@Injectable()
export class ClientConfigService implements OnApplicationBootstrap {
  private readonly logger = new Logger(ClientConfigService.name);
  private readonly settings: Omit<ClientConfig, keyof Awaited<ReturnType<WalletChain['read']>>>;

  constructor(
    private readonly chain: WalletChain,
    { POOL_CONTRACTS: contracts }: ChainSettings,
    { MIN_DEPOSIT, MIN_DEPOSITS }: PoolsSettings,
    { SIWE_DOMAINS, CHAIN_ID }: AuthSettings,
    { PUBLIC_STATISTICS }: AccessSettings,
  ) {
    const { localUrl } = chain;
    this.settings = {
      contracts: byPoolType((type) => contracts.newest(type)),
      furtherContracts: byPoolType((type) => [...contracts.furtherOf(type)]),
      formerContracts: byPoolType((type) => contracts.formerOf(type)),
      minimumDeposit: BigInt(MIN_DEPOSIT).toString(),
      minimumDeposits: Object.fromEntries(MIN_DEPOSITS),
      signIn: {
        domains: SIWE_DOMAINS,
        chainId: CHAIN_ID ?? null,
        nonceLifetimeSeconds: NONCE_LIFETIME_SECONDS,
        tokenLifetimeSeconds: TOKEN_LIFETIME_SECONDS,
      },
      publicStatistics: PUBLIC_STATISTICS,
      ...(localUrl && { rpcUrl: localUrl }),
    };
  }

  /** A wrong CHAIN_ID would otherwise show only when nobody can sign in. */
  async onApplicationBootstrap(): Promise<void> {
    // Without an answer the service starts all the same: /health reports database and schema.
    const known = await this.chain.read().catch(() => undefined);
    const { chainId } = this.settings.signIn;
    if (chainId !== null && known?.chainId && known.chainId !== chainId)
      this.logger.error(
        `CHAIN_ID is ${chainId}, but the indexer follows chain ${known.chainId}: sign-in messages of wallets there are refused`,
      );
  }

  /** What a client needs to know about the service and the chain. */
  async read(): Promise<ClientConfig> {
    return { ...(await this.chain.read()), ...this.settings };
  }
}

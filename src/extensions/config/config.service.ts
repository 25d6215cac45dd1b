import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { byPoolType } from '#values/types';
import { Database } from '#platform/database/database';
import { CHAIN_FACTS } from '#ledger/chain/chain.sql';
import { localRpcUrl } from '#ledger/chain/endpoints';
import { AccessSettings } from '#features/access/access.settings';
import { NONCE_LIFETIME_SECONDS, TOKEN_LIFETIME_SECONDS } from '#features/access/lifetimes';
import { AuthSettings } from '#features/auth/auth.settings';
import { PoolsSettings } from '#features/pools/pools.settings';
import type { ClientConfig } from './config.dto';
import { ClientConfigSettings } from './config.settings';
import { chainInfo } from './wallet-chain';

@Injectable()
export class ClientConfigService implements OnApplicationBootstrap {
  private readonly logger = new Logger(ClientConfigService.name);
  /** The chain of this machine; in development only. */
  private readonly localUrl?: string;
  private readonly settings: Omit<ClientConfig, keyof Awaited<ReturnType<ClientConfigService['chain']>>>;

  constructor(
    private readonly database: Database,
    private readonly wallets: ClientConfigSettings,
    { MIN_DEPOSIT, MIN_DEPOSITS }: PoolsSettings,
    chain: AuthSettings,
    { PUBLIC_STATISTICS }: AccessSettings,
  ) {
    const { SIWE_DOMAINS, CHAIN_ID, POOL_CONTRACTS: contracts } = chain;
    this.localUrl = localRpcUrl(chain);
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
      ...(this.localUrl && { rpcUrl: this.localUrl }),
    };
  }

  /** A wrong CHAIN_ID would otherwise show only when nobody can sign in. */
  async onApplicationBootstrap(): Promise<void> {
    // Without an answer the service starts all the same: /health reports database and schema.
    const known = await this.chain().catch(() => undefined);
    const { chainId } = this.settings.signIn;
    if (chainId !== null && known?.chainId && known.chainId !== chainId)
      this.logger.error(
        `CHAIN_ID is ${chainId}, but the indexer follows chain ${known.chainId}: sign-in messages of wallets there are refused`,
      );
  }

  /** What a client needs to know about the service and the chain. */
  async read(): Promise<ClientConfig> {
    return { ...(await this.chain()), ...this.settings };
  }

  /** Data of the chain and its token, for wallets. */
  private async chain() {
    const facts = await this.database.read(CHAIN_FACTS, {});
    const chainId = facts ? Number(facts.chainId) : null;
    return {
      chainId,
      chain: chainId === null ? null : chainInfo(chainId, this.wallets, this.localUrl),
      token: facts?.address
        ? { address: facts.address, symbol: facts.symbol, decimals: facts.decimals }
        : null,
      contractTokens: facts?.tokens ?? {},
      contractMinimums: byPoolType((type) => facts?.minimums?.[type] ?? null),
      contractCalls: facts?.calls ?? {},
      contractsByAccount: facts?.byAccount ?? [],
    } satisfies Partial<ClientConfig>;
  }
}

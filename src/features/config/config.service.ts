import { Injectable } from '@nestjs/common';
import { byPoolType } from '#values/types';
import { Database } from '#platform/database/database';
import { ChainSettings } from '#ledger/chain/chain.settings';
import { CHAIN_FACTS } from '#ledger/chain/chain.sql';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { NONCE_LIFETIME_SECONDS, TOKEN_LIFETIME_SECONDS } from '#features/access/lifetimes';
import { AuthSettings } from '#features/auth/auth.settings';
import { PoolsSettings } from '#features/pools/pools.settings';
import type { ClientConfig } from './config.dto';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

@Injectable()
export class ClientConfigService {
  private readonly settings: Omit<ClientConfig, 'chainId' | 'token' | 'contractMinimums'>;

  constructor(
    private readonly database: Database,
    chain: ChainSettings,
    { MIN_DEPOSIT }: PoolsSettings,
    { SIWE_DOMAINS, CHAIN_ID }: AuthSettings,
  ) {
    const { POOL_CONTRACTS: contracts } = chain;
    const rpcUrl = localRpcUrl(chain);
    this.settings = {
      contracts: byPoolType((type) => contracts.get(type)!.at(-1)!),
      formerContracts: byPoolType((type) => contracts.get(type)!.slice(0, -1)),
      minimumDeposit: BigInt(MIN_DEPOSIT).toString(),
      signIn: {
        domains: SIWE_DOMAINS,
        chainId: CHAIN_ID ?? null,
        nonceLifetimeSeconds: NONCE_LIFETIME_SECONDS,
        tokenLifetimeSeconds: TOKEN_LIFETIME_SECONDS,
      },
      ...(rpcUrl && { rpcUrl }),
    };
  }

  /** What a client needs to know about the service and the chain. */
  async read(): Promise<ClientConfig> {
    const facts = await this.database.read(CHAIN_FACTS, {});
    const { chainId = null, address, symbol, decimals, minimums } = facts ?? {};
    return {
      chainId: chainId === null ? null : Number(chainId),
      token: address ? { address, symbol: symbol!, decimals: decimals! } : null,
      contractMinimums: byPoolType((type) => minimums?.[type] ?? null),
      ...this.settings,
    };
  }
}

/**
 * The RPC address of a chain on this machine, for developers' wallets. Any other address may contain an API key, even
 * in its path.
 */
export function localRpcUrl({
  NODE_ENV,
  RPC_URL,
}: Pick<ChainSettings, 'NODE_ENV' | 'RPC_URL'>): string | undefined {
  if (NODE_ENV !== 'development' || !RPC_URL) return undefined;
  const [{ url, headers }] = rpcEndpoints(RPC_URL);
  const { hostname, pathname, search, hash, origin } = new URL(url);
  const isPlain = pathname === '/' && search === '' && hash === '' && Object.keys(headers).length === 0;
  return isPlain && LOOPBACK.test(hostname) ? origin : undefined;
}

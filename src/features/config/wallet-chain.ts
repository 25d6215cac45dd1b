import { Injectable } from '@nestjs/common';
import { byPoolType } from '#values/types';
import { Database } from '#platform/database/database';
import { ChainSettings } from '#ledger/chain/chain.settings';
import { CHAIN_FACTS } from '#ledger/chain/chain.sql';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import type { ChainInfo, ClientConfig } from './config.dto';
import { ClientConfigSettings, isLoopback } from './config.settings';
import { KNOWN_CHAINS, UNKNOWN_CHAIN } from './known-chains';

/** What wallets are told of the chain and its token. */
@Injectable()
export class WalletChain {
  /** The chain of this machine; in development only. */
  readonly localUrl?: string;

  constructor(
    private readonly database: Database,
    settings: ChainSettings,
    private readonly told: ClientConfigSettings,
  ) {
    this.localUrl = localRpcUrl(settings);
  }

  async read(): Promise<
    Pick<
      ClientConfig,
      | 'chainId'
      | 'chain'
      | 'token'
      | 'contractTokens'
      | 'contractMinimums'
      | 'contractCalls'
      | 'contractsByAccount'
    >
  > {
    const facts = await this.database.read(CHAIN_FACTS, {});
    const contractMinimums = byPoolType((type) => facts?.minimums?.[type] ?? null);
    const contractCalls = facts?.calls ?? {};
    const contractTokens = facts?.tokens ?? {};
    const contractsByAccount = facts?.byAccount ?? [];
    const ofContracts = { contractTokens, contractMinimums, contractCalls, contractsByAccount };
    if (!facts) return { chainId: null, chain: null, token: null, ...ofContracts };
    const { address, symbol, decimals } = facts;
    const chainId = Number(facts.chainId);
    return {
      chainId,
      chain: chainInfo(chainId, this.told, this.localUrl),
      token: address ? { address, symbol, decimals } : null,
      ...ofContracts,
    };
  }
}

/** What is set, else the chain of this machine, else what is known of the chain. */
export function chainInfo(
  id: number,
  told: Pick<ClientConfigSettings, 'CHAIN_NAME' | 'CHAIN_CURRENCY' | 'PUBLIC_RPC_URLS' | 'EXPLORER_URL'>,
  localUrl?: string,
): ChainInfo {
  const { CHAIN_NAME, CHAIN_CURRENCY, PUBLIC_RPC_URLS, EXPLORER_URL } = told;
  const local = localUrl && { ...UNKNOWN_CHAIN, name: 'Local chain', rpcUrls: [localUrl] };
  const known = local || (KNOWN_CHAINS[id] ?? { ...UNKNOWN_CHAIN, name: `Chain ${id}` });
  return {
    id,
    name: CHAIN_NAME ?? known.name,
    currency: CHAIN_CURRENCY ?? known.currency,
    rpcUrls: PUBLIC_RPC_URLS.length > 0 ? PUBLIC_RPC_URLS : known.rpcUrls,
    explorerUrl: EXPLORER_URL?.replace(/\/+$/, '') ?? known.explorerUrl,
  };
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
  return isPlain && isLoopback(hostname) ? origin : undefined;
}

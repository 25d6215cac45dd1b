import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { Integer } from '#platform/config/settings';
import { ChainSettings } from '#ledger/chain/chain.settings';
import { rpcEndpoints } from '#ledger/chain/endpoints';

/** Of the process that follows the chain. Its metrics have the same token as the API's. */
export class IndexerSettings extends ChainSettings {
  @Integer() @IsInt() @Min(0) START_BLOCK = 0;

  @Integer() @IsInt() @Min(0) @Max(64) CONFIRMATIONS = 0;

  /** Endpoints of RPC_URL that must have the same block before its events count; with 1, all that are well. */
  @Integer() @IsInt() @Min(1) @Max(100) RPC_AGREE = 1;

  /** Seconds. 0: any age is accepted. Unset: depends on the chain's own pace. See `SyncState`. */
  @IsOptional() @Integer() @IsInt() @Min(0) MAX_HEAD_AGE?: number;

  /** Seconds of block time. */
  @Integer() @IsInt() @Min(1) PENDING_DEPOSIT_TTL = 86_400;

  /** Seconds between the indexer's verification rounds. 0: none. */
  @Integer() @IsInt() @Min(0) @Max(86_400) VERIFY_INTERVAL = 60;

  /** Pools in a round, and also addresses and draws in a round. */
  @Integer() @IsInt() @Min(1) @Max(10_000) VERIFY_POOLS = 20;

  /** Port of the indexer's own health and metrics server. */
  @Integer() @IsInt() @Min(0) @Max(65535) INDEXER_PORT = 3002;

  static override problems(settings: IndexerSettings, wrong: (name: string) => boolean): string[] {
    const { RPC_URL, RPC_AGREE } = settings;
    const areTooFew = RPC_URL && !wrong('RPC_URL') && rpcEndpoints(RPC_URL).length < RPC_AGREE;
    return [
      ...super.problems(settings, wrong),
      ...(areTooFew ? ['RPC_AGREE is more than the endpoints of RPC_URL'] : []),
    ];
  }
}

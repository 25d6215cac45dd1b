import { Transform } from 'class-transformer';
import { ArrayNotEmpty, IsInstance, IsInt, IsOptional, Max, Min, ValidateBy } from 'class-validator';
import { Integer, IntegerList } from '#platform/config/settings';
import { ChainSettings } from '#ledger/chain/chain.settings';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { StartBlocks, parseStartBlocks } from './start-blocks';

/** Blocks to wait for before an event counts, or the tag that its block must have. */
export type Confirmations = number | 'safe' | 'finalized';

const MOST_CONFIRMATIONS = 64;
const IsConfirmations = (): PropertyDecorator =>
  ValidateBy({
    name: 'isConfirmations',
    validator: {
      validate: (value) =>
        value === 'safe' ||
        value === 'finalized' ||
        (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MOST_CONFIRMATIONS),
      defaultMessage: () => `must be safe, finalized, or a number up to ${MOST_CONFIRMATIONS}`,
    },
  });
const Confirmed = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value,
  );

/** Of the process that follows the chain. Its metrics have the same token as the API's. */
export class IndexerSettings extends ChainSettings {
  /** Where the events of each contract begin: `N`, `0x…:N` for each, or both. See `StartBlocks`. */
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? parseStartBlocks(value) : value))
  @IsInstance(StartBlocks, { message: 'must be a block number, or 0x…:number for each contract' })
  START_BLOCK = new StartBlocks();

  @Confirmed() @IsConfirmations() CONFIRMATIONS: Confirmations = 0;

  /** Endpoints of RPC_URL that must have the same block before its events count; with 1, all that are well. */
  @Integer() @IsInt() @Min(1) @Max(100) RPC_AGREE = 1;

  /** Seconds for which the numbers of a contract's events must be wrong before the other contracts go on without it. */
  @Integer() @IsInt() @Min(1) @Max(86_400) QUARANTINE_AFTER = 60;

  /** Calls a second that an endpoint of RPC_URL may be sent by this process: one number for all, or one for each. */
  @IsOptional()
  @IntegerList()
  @ArrayNotEmpty()
  @IsInt({ each: true })
  @Min(1, { each: true })
  @Max(100_000, { each: true })
  RPC_REQUESTS_PER_SECOND?: number[];

  /** Seconds that an endpoint has for an answer about final blocks. Near the head it has 2.5. */
  @Integer() @IsInt() @Min(1) @Max(60) RPC_TIMEOUT = 5;

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
    const { RPC_URL, RPC_AGREE, RPC_REQUESTS_PER_SECOND: budgets } = settings;
    const endpoints = RPC_URL && !wrong('RPC_URL') ? rpcEndpoints(RPC_URL).length : undefined;
    const areTooFew = endpoints !== undefined && endpoints < RPC_AGREE;
    const isUneven =
      endpoints !== undefined &&
      !wrong('RPC_REQUESTS_PER_SECOND') &&
      budgets !== undefined &&
      ![1, endpoints].includes(budgets.length);
    const areKnown = wrong('START_BLOCK') || wrong('POOL_CONTRACTS') || namesKnown(settings);
    return [
      ...super.problems(settings, wrong),
      ...(areKnown ? [] : ['START_BLOCK names a contract that POOL_CONTRACTS does not name']),
      ...(areTooFew ? ['RPC_AGREE is more than the endpoints of RPC_URL'] : []),
      ...(isUneven
        ? ['RPC_REQUESTS_PER_SECOND must be one number, or one for each endpoint of RPC_URL']
        : []),
    ];
  }
}

function namesKnown({ START_BLOCK, POOL_CONTRACTS }: IndexerSettings): boolean {
  const contracts = new Set([...POOL_CONTRACTS.values()].flat());
  return [...START_BLOCK.named.keys()].every((address) => contracts.has(address));
}

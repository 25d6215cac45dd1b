import { Transform } from 'class-transformer';
import { ArrayNotEmpty, IsInstance, IsInt, IsOptional, Max, Min, ValidateBy } from 'class-validator';
import { Integer, IntegerList, Setting } from '#platform/config/settings';
import { ChainSettings, strangersIn } from '#ledger/chain/chain.settings';
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
  static override readonly title = 'Indexer';

  /** Where the events of each contract begin: `N`, `0x…:N` for each, or both. See `StartBlocks`. */
  @Setting(
    'Where the events of the contracts begin: one block for all, or one for each. A plain number among them is that of the contracts not named.',
    { readBy: ['indexer'], form: '`N`, or `0xaddress:N,…`', unset: '`0`', example: '0' },
  )
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? parseStartBlocks(value) : value))
  @IsInstance(StartBlocks, { message: 'must be a block number, or 0x…:number for each contract' })
  START_BLOCK = new StartBlocks();

  @Setting('Blocks that the indexer waits before an event counts, or until nodes call its block so.', {
    readBy: ['indexer'],
    form: '0 to 64, `safe` or `finalized`',
  })
  @Confirmed()
  @IsConfirmations()
  CONFIRMATIONS: Confirmations = 0;

  @Setting(
    'Endpoints of `RPC_URL` that must have the same block before its events count. `1`: all that are well, be it one.',
    { readBy: ['indexer', 'verify'] },
  )
  @Integer(1, 100)
  RPC_AGREE = 1;

  @Setting(
    "Seconds for which a contract's events must be wrong or unreadable before the other contracts continue without it.",
    { readBy: ['indexer'] },
  )
  @Integer(1, 86_400)
  QUARANTINE_AFTER = 60;

  @Setting(
    'Calls a second, those of a batch each, that the indexer sends an endpoint of `RPC_URL` at most. The API and `verify` count apart.',
    {
      readBy: ['indexer'],
      form: 'one number for all endpoints, or one for each',
      unset: 'any number',
      example: '25',
    },
  )
  @IsOptional()
  @IntegerList()
  @ArrayNotEmpty()
  @IsInt({ each: true })
  @Min(1, { each: true })
  @Max(100_000, { each: true })
  RPC_REQUESTS_PER_SECOND?: number[];

  @Setting(
    'Seconds that an endpoint has for an answer about final blocks, and to `verify`. It first has 2.5 for one about the latest blocks.',
    { readBy: ['indexer'] },
  )
  @Integer(1, 60)
  RPC_TIMEOUT = 5;

  /** Seconds. 0: any age is accepted. Unset: depends on the chain's own pace. See `SyncState`. */
  @Setting('Age of the last block in seconds from which the node counts as standing still. `0`: never.', {
    readBy: ['indexer'],
    unset: "by the chain's own pace",
    example: '60',
  })
  @IsOptional()
  @Integer(0)
  MAX_HEAD_AGE?: number;

  @Setting('Seconds of block time after which a deposit that never came expires.', { readBy: ['indexer'] })
  @Integer(1)
  PENDING_DEPOSIT_TTL = 86_400;

  @Setting('Seconds between rounds of [verification](verify.md#continuously). `0`: none.', {
    readBy: ['indexer'],
  })
  @Integer(0, 86_400)
  VERIFY_INTERVAL = 60;

  @Setting('Pools, and as many addresses and draws, that a round verifies.', { readBy: ['indexer'] })
  @Integer(1, 10_000)
  VERIFY_POOLS = 20;

  @Setting("Port of the indexer's own `/health`, `/health/live` and `/metrics`.", {
    readBy: ['indexer'],
    example: '3002',
  })
  @Integer(0, 65535)
  INDEXER_PORT = 3002;

  static override problems(settings: IndexerSettings, wrong: (name: string) => boolean): string[] {
    const { RPC_URL, RPC_AGREE, RPC_REQUESTS_PER_SECOND: budgets } = settings;
    const endpoints = RPC_URL && !wrong('RPC_URL') ? rpcEndpoints(RPC_URL).length : undefined;
    const areTooFew = endpoints !== undefined && endpoints < RPC_AGREE;
    const isUneven =
      endpoints !== undefined &&
      !wrong('RPC_REQUESTS_PER_SECOND') &&
      budgets !== undefined &&
      ![1, endpoints].includes(budgets.length);
    return [
      ...super.problems(settings, wrong),
      ...strangersIn('START_BLOCK', () => settings.START_BLOCK.named, settings, wrong),
      ...(areTooFew ? ['RPC_AGREE is more than the endpoints of RPC_URL'] : []),
      ...(isUneven
        ? ['RPC_REQUESTS_PER_SECOND must be one number, or one for each endpoint of RPC_URL']
        : []),
    ];
  }
}

import { Logger } from '@nestjs/common';
import type { Kind } from '#ledger/adapters/happening';
import type { PoolsBy } from '#ledger/adapters/pool-contract';
import { standIn } from '#indexer/ledger/movements';
import { UnreadableEvents } from '#indexer/reading/block-batch';
import { isShareKind } from '#indexer/ledger/movements';
import {
  type ChainEvent,
  type DecodeLog,
  LATEST_TIME_S,
  NOTHING,
  type RawLog,
} from '#indexer/reading/decode';
import { MONEY_KINDS, MOVEMENTS } from '#indexer/reading/money';
import { MAX_PLACES } from '#indexer/reading/raw-chain';
import type { AdaptedEvent, Adapter } from './adapter';

const logger = new Logger('Adapters');

/** Not exact above Number.MAX_SAFE_INTEGER, which no honest contract reaches. */
const small = (value: bigint | number): number => Math.min(Number(value), Number.MAX_SAFE_INTEGER);
const digits = (id: string): string => id.slice(2);

/** What all fields of a happening are called. */
type Fields = Partial<
  Record<'poolId' | 'poolAccount' | 'holder' | 'ref' | 'account', string> &
    Record<'poolNumber' | 'drawId' | 'amount' | 'fee' | 'drawTime', bigint> &
    Record<'circleId' | 'collateral' | 'time' | 'shares' | 'remaining', bigint> &
    Record<'aprBps' | 'period' | 'place', number> & { isContract: true }
> & { kind: Kind };

/** The most digits that the columns of `chain_events` take. */
const MOST_DIGITS = {
  ...{ drawId: 20, circleId: 20 },
  ...{ amount: 78, collateral: 78, fee: 78, remaining: 78, shares: 78 },
};
/** Anyone can move nothing, for anyone. Who joins a circle without collateral is a member nonetheless. */
const isNothing = ({ kind, amount, circleId }: Fields): boolean =>
  MONEY_KINDS.includes(kind) && amount === 0n && circleId === undefined;

/** Without a number, its place on the chain orders an event among those of its contract. */
const placeOf = ({ blockNumber, logIndex }: RawLog): number =>
  small(Number(blockNumber) * MAX_PLACES + Number(logIndex));

const NAMES = {
  reference: () => null,
  number: ({ poolNumber }) => poolNumber?.toString() ?? null,
  account: ({ poolAccount, holder }) => poolAccount ?? holder ?? null,
  // Whose shares they are is not known by the pool. Of which pool these are is said with what they become.
  contract: ({ isContract, holder }, contract) => holder ?? (isContract ? contract : null),
} satisfies Record<PoolsBy, (fields: Fields, contract: string) => string | null>;
const ID_LENGTH = 32;
const ADDRESS_LENGTH = 42;

/**
 * Reads logs by the adapters of their contracts. If the adapter fails at an event, the event is read without any field,
 * so that it is set aside and stops no other. An event with another layout could mean anything: it stops its contract.
 * @param adapters by the address of the contract
 */
export function decoderOf(adapters: ReadonlyMap<string, Adapter>): DecodeLog {
  const logged = new Set<AdaptedEvent>();
  return (log, time) => {
    const contract = log.address.toLowerCase();
    const adapter = adapters.get(contract);
    if (!adapter) return undefined;
    const adapted = adapter.events.get(log.topics[0]);
    if (!adapted) return 'unread';
    const { name, place, numberedBy } = adapted;
    const parameters = adapted.read(log);
    if (!parameters) {
      const where = `block ${Number(log.blockNumber)}, transaction ${log.transactionHash}`;
      throw new UnreadableEvents(
        contract,
        `${name} of ${contract} does not have the layout that ${place} expects: ${where}`,
      );
    }
    const seq = numberedBy === undefined ? placeOf(log) : small(parameters[numberedBy] as bigint);
    try {
      const told = adapted.translate(parameters);
      const [happening, also] = (
        Array.isArray(told) ? inOrder(told, numberedBy !== undefined) : [told]
      ) as Fields[];
      if ((happening === undefined || isNothing(happening)) && numberedBy === undefined) return undefined;
      if (!happening) return eventOf(log, time, contract, seq, { kind: NOTHING }, 'reference');
      const event = checked(eventOf(log, time, contract, seq, happening, adapter.poolsBy));
      return also
        ? { ...event, second: checked(eventOf(log, time, contract, seq, also, adapter.poolsBy)) }
        : event;
    } catch (error) {
      // An account that can make one such event can make many.
      if (!logged.has(adapted))
        logger.error(`${place} failed at an event of ${log.transactionHash}: ${(error as Error).message}`);
      logged.add(adapted);
      return eventOf(log, time, contract, seq, { kind: name as Kind }, 'reference');
    }
  };
}

/** What is paid in comes first, so that no balance is too low for what is taken out. @throws Error for more than two */
function inOrder(told: Fields[], isNumbered: boolean): Fields[] {
  const some = told.filter((each) => !isNothing(each));
  if (some.length > 1 && (some.length > 2 || isNumbered || some.some(({ kind }) => isShareKind(kind))))
    throw new Error('a log says two things at most, one if its contract numbers them, and of shares one');
  const isDeposit = ({ kind }: Fields): number =>
    Number((MOVEMENTS as Partial<Record<Kind, string | null>>)[kind] === 'DEPOSIT');
  // The second would come after what its block takes out.
  if (some.length > 1 && some.every(isDeposit)) throw new Error('a log says one payment into a pool at most');
  return some.sort((a, b) => isDeposit(b) - isDeposit(a));
}

const numberOf = (value: number | undefined): number | null => (value === undefined ? null : small(value));

function eventOf(
  log: RawLog,
  time: number,
  contract: string,
  seq: number,
  fields: Fields,
  poolsBy: PoolsBy,
): ChainEvent {
  const { kind, poolId, ref, drawId, account, amount, fee, remaining, circleId, collateral, shares } = fields;
  const ends = fields.drawTime ?? fields.time;
  const poolName = NAMES[poolsBy](fields, contract);
  const own = poolId === undefined ? null : digits(poolId);
  return {
    blockNumber: Number(log.blockNumber),
    logIndex: small(Number(log.logIndex)),
    blockHash: log.blockHash,
    time,
    txHash: log.transactionHash,
    contract,
    seq,
    kind,
    poolId: poolsBy === 'reference' ? own : poolName && standIn(contract, poolName),
    poolName,
    ref: ref === undefined || /^0x0*$/.test(ref) ? null : digits(ref),
    drawId: drawId === undefined ? null : drawId.toString(),
    account: account ?? null,
    amount: amount === undefined ? null : amount.toString(),
    fee: fee === undefined ? null : fee.toString(),
    remaining: remaining === undefined ? null : remaining.toString(),
    aprBps: numberOf(fields.aprBps),
    drawTime: ends === undefined ? null : Math.min(small(ends), LATEST_TIME_S),
    circleId: circleId === undefined ? null : circleId.toString(),
    collateral: collateral === undefined ? null : collateral.toString(),
    period: numberOf(fields.period),
    place: numberOf(fields.place),
    shares: shares === undefined ? null : shares.toString(),
  };
}

/** One that the database could not store would stop all others. @throws Error */
function checked(event: ChainEvent): ChainEvent {
  const { kind, poolId, poolName, ref, drawId, account } = event;
  const isNumber = (value: string | null, most: number): boolean =>
    value === null || (value.length <= most && !value.startsWith('-'));
  const fits =
    (poolId === null) !== (drawId === null) &&
    (poolId === null || poolId.length === ID_LENGTH) &&
    (ref === null || ref.length === ID_LENGTH) &&
    (account === null || account.length === ADDRESS_LENGTH) &&
    (!isShareKind(kind) || poolName?.startsWith('0x') === true) &&
    (poolName?.startsWith('0x')
      ? poolName.length === ADDRESS_LENGTH
      : isNumber(poolName, MOST_DIGITS.amount)) &&
    (Object.keys(MOST_DIGITS) as (keyof typeof MOST_DIGITS)[]).every((name) =>
      isNumber(event[name], MOST_DIGITS[name]),
    );
  if (!fits)
    throw new Error(`what it returned for ${kind} is not of a pool or a draw, or does not fit its field`);
  return event;
}

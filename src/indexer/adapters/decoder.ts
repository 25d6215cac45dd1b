import { Logger } from '@nestjs/common';
import type { Kind } from '#ledger/adapters/happening';
import { type DecodeLog, LATEST_TIME_S, type RawLog } from '#indexer/reading/decode';
import type { AdaptedEvent, Adapter } from './adapter';
import type { Parameters } from './parameters';

const logger = new Logger('Adapters');

/** Not exact above Number.MAX_SAFE_INTEGER, which no honest contract reaches. */
const small = (value: bigint | number): number => Math.min(Number(value), Number.MAX_SAFE_INTEGER);
const digits = (id: string): string => id.slice(2);

/** What all fields of a happening are called. */
type Fields = Partial<
  Record<'poolId' | 'ref' | 'account', string> & Record<'drawId' | 'amount' | 'drawTime', bigint>
> & { kind: Kind; aprBps?: number };

/** The longest that the columns of `chain_events` take. */
const DRAWS = 2n ** 64n;
const AMOUNTS = 2n ** 256n;
const ID_LENGTH = 34;
const ADDRESS_LENGTH = 42;

/**
 * Reads logs by the adapters of their contracts. An event that its adapter fails at is read without any field, so that it
 * is set aside and stops no other.
 * @param adapters by the address of the contract
 */
export function decoderOf(adapters: ReadonlyMap<string, Adapter>): DecodeLog {
  const logged = new Set<AdaptedEvent>();
  const failed = (event: AdaptedEvent, log: RawLog, error: Error): Fields => {
    // Whoever can make one such event can make many.
    if (!logged.has(event))
      logger.error(`${event.place} failed at an event of ${log.transactionHash}: ${error.message}`);
    logged.add(event);
    return { kind: event.name as Kind };
  };
  return (log, time) => {
    const contract = log.address.toLowerCase();
    const event = adapters.get(contract)?.events.get(log.topics[0]);
    const parameters = event?.read(log);
    if (!parameters) return undefined;
    let happening: Fields;
    try {
      happening = checked(event!.translate(parameters));
    } catch (error) {
      happening = failed(event!, log, error as Error);
    }
    const { kind, poolId, ref, drawId, account, amount, aprBps, drawTime } = happening;
    return {
      blockNumber: Number(log.blockNumber),
      logIndex: small(Number(log.logIndex)),
      blockHash: log.blockHash,
      time: Math.min(time, LATEST_TIME_S),
      txHash: log.transactionHash,
      contract,
      seq: small(event!.number(log, parameters)),
      kind,
      poolId: poolId === undefined ? null : digits(poolId),
      ref: ref === undefined || /^0x0*$/.test(ref) ? null : digits(ref),
      drawId: drawId === undefined ? null : drawId.toString(),
      account: account ?? null,
      amount: amount === undefined ? null : amount.toString(),
      aprBps: aprBps === undefined ? null : small(aprBps),
      drawTime: drawTime === undefined ? null : Math.min(small(drawTime), LATEST_TIME_S),
    };
  };
}

/** One that the database could not store would stop all others. @throws Error */
function checked(happening: Fields): Fields {
  const { kind, poolId, ref, drawId, account, amount } = happening;
  const fits =
    (poolId === undefined) !== (drawId === undefined) &&
    (poolId === undefined || poolId.length === ID_LENGTH) &&
    (ref === undefined || ref.length === ID_LENGTH) &&
    (account === undefined || account.length === ADDRESS_LENGTH) &&
    (drawId === undefined || (drawId >= 0n && drawId < DRAWS)) &&
    (amount === undefined || (amount >= 0n && amount < AMOUNTS));
  if (!fits)
    throw new Error(`what it returned for ${kind} is not of a pool or a draw, or does not fit its field`);
  return happening;
}

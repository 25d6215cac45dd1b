import { Logger } from '@nestjs/common';
import type { Happening, Kind } from '#ledger/adapters/happening';
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

/**
 * Reads logs by the adapters of their contracts. An event that its adapter fails at is read without any field, so that it
 * is set aside and stops no other.
 * @param adapters by the address of the contract
 */
export function decoderOf(adapters: ReadonlyMap<string, Adapter>): DecodeLog {
  return (log, time) => {
    const contract = log.address.toLowerCase();
    const event = adapters.get(contract)?.events.get(log.topics[0]);
    const parameters = event?.read(log);
    if (!parameters) return undefined;
    const happening: Fields = translated(event!, parameters, log);
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

function translated(
  event: AdaptedEvent,
  parameters: Parameters,
  { transactionHash }: RawLog,
): Happening | { kind: Kind } {
  const { name, translate } = event;
  try {
    return translate(parameters);
  } catch (error) {
    logger.error(`${name} in ${transactionHash} cannot be read: ${(error as Error).message}`);
    // No kind of the ledger: it is refused.
    return { kind: name as Kind };
  }
}

import { type Log, decodeEventLog } from 'viem';
import { eventsAbi } from '#verify/contract/events.abi';
import type { AtCursor } from '#verify/contract/holdings';
import { SECOND } from './share-model';
import { toldByVault } from './vault-log';
import { COLUMNS, type EventColumn } from './node.sql';

type Columns = Record<EventColumn, string | null>;
/** A row of NEXT_EVENTS. */
export type StoredEvent = AtCursor & {
  block: string;
  index: string;
  isOurs: boolean;
  isVault: boolean;
  isPool: boolean;
  otherAmount: string | null;
} & Columns;
export interface Header {
  hash: string;
  parentHash: string;
  timestamp: string;
}
export type RawLog = Pick<Log, 'topics' | 'data' | 'address'> &
  Record<'blockHash' | 'transactionHash' | 'logIndex', string>;
/** Later times are stored as this one. */
const LAST_SECOND = BigInt(Date.UTC(9999, 11, 31) / 1000);
const ZERO = /^0x0+$/;

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
/** The time in seconds, as it is stored. */
export const timeOf = (timestamp: string): string => BigInt(timestamp).toString();
const uuid = (bytes: string): string =>
  bytes.slice(2).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
const lower = (text: unknown): string => String(text).toLowerCase();

type Parameter = (typeof eventsAbi)[number]['inputs'][number]['name'];
const END: [EventColumn, (value: unknown) => string] = [
  'draw_time',
  (value) => least(value as bigint, LAST_SECOND).toString(),
];
/** For each parameter of an event, the column that has it, and its text there. */
const PARAMETERS: Record<Parameter, [EventColumn, (value: unknown) => string | null]> = {
  poolId: ['pool_id', (value) => uuid(value as string)],
  ref: ['ref', (value) => (ZERO.test(value as string) ? null : uuid(value as string))],
  drawId: ['draw_id', String],
  circleId: ['circle_id', String],
  account: ['account', lower],
  organiser: ['account', lower],
  funder: ['account', lower],
  winner: ['account', lower],
  amount: ['amount', String],
  ticketPrice: ['amount', String],
  count: ['amount', String],
  contribution: ['amount', String],
  collateral: ['collateral', String],
  period: ['period', String],
  members: ['place', String],
  place: ['place', String],
  round: ['place', String],
  prize: ['amount', String],
  aprBps: ['apr_bps', String],
  drawTime: END,
  joinBy: END,
  roundEnd: END,
  nextEnd: END,
  seq: ['seq', (value) => least(value as bigint, BigInt(Number.MAX_SAFE_INTEGER)).toString()],
};

/** The columns of a row by its log, as far as they can be told; undefined for a log of another event. */
export function wantedOf(row: StoredEvent, header: Header, log: RawLog): Partial<Columns> | undefined {
  if (row.isOurs) return told(header, log);
  const ofShares = row.isVault
    ? toldByVault({ ...row, kind: row.kind!, isSecond: BigInt(row.index) >= SECOND }, log)
    : {};
  return ofShares && { ...placed(header, log), ...ofShares };
}

/** The columns of any log. */
const placed = (
  header: Header,
  log: RawLog,
): Record<'block_hash' | 'block_time' | 'tx_hash' | 'contract', string> => ({
  block_hash: header.hash,
  block_time: timeOf(header.timestamp),
  tx_hash: log.transactionHash,
  contract: log.address.toLowerCase(),
});

/** The columns of an event by its log; undefined for a log of another event. */
function told(header: Header, log: RawLog): Columns | undefined {
  try {
    const { eventName, args } = decodeEventLog({ abi: eventsAbi, topics: log.topics, data: log.data });
    return {
      ...(Object.fromEntries(COLUMNS.map((column) => [column, null])) as Columns),
      ...placed(header, log),
      kind: eventName,
      ...Object.fromEntries(
        Object.entries(args).map(([name, value]) => [
          PARAMETERS[name as Parameter][0],
          PARAMETERS[name as Parameter][1](value),
        ]),
      ),
    };
  } catch {
    return undefined;
  }
}

import { type Log, decodeEventLog, parseAbi, zeroAddress } from 'viem';
import { eventsAbi } from '#verify/contract/events.abi';
import type { AtCursor } from '#verify/contract/holdings';
import { COLUMNS, type EventColumn } from './node.sql';
import { SECOND } from './share-model';

/** Values of columns, as text. */
export type Columns = Record<string, string | null>;
/** A row of STORED_EVENTS. */
export type StoredEvent = AtCursor &
  Record<EventColumn | 'otherAmount', string | null> &
  Record<'block' | 'index', string> &
  Record<'isOurs' | 'isVault' | 'isPool', boolean>;
export interface Header {
  hash: string;
  parentHash: string;
  timestamp: string;
}
export type RawLog = Pick<Log, 'topics' | 'data' | 'address'> &
  Record<'transactionHash' | 'logIndex', string>;

/** The time in seconds, as it is stored. */
export const timeOf = (timestamp: string): string => BigInt(timestamp).toString();
const lower = (text: unknown): string => String(text).toLowerCase();
const atMost =
  (most: number) =>
  (value: unknown): string =>
    `${(value as bigint) < BigInt(most) ? (value as bigint) : most}`;
const uuid = (bytes: unknown): string =>
  String(bytes).replace(/^0x(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** For each parameter of an event, the column that has it. */
const PARAMETERS: Record<(typeof eventsAbi)[number]['inputs'][number]['name'], EventColumn> = {
  ...{
    poolId: 'pool_id',
    ref: 'ref',
    drawId: 'draw_id',
    circleId: 'circle_id',
    aprBps: 'apr_bps',
    seq: 'seq',
  },
  ...{ account: 'account', organiser: 'account', funder: 'account', winner: 'account' },
  ...{ amount: 'amount', ticketPrice: 'amount', count: 'amount', contribution: 'amount', prize: 'amount' },
  ...{ collateral: 'collateral', period: 'period', members: 'place', place: 'place', round: 'place' },
  ...{ drawTime: 'draw_time', joinBy: 'draw_time', roundEnd: 'draw_time', nextEnd: 'draw_time' },
};
/** How columns are written that are not simply the value. Times after 31 December 9999, 0:00, are stored as that time. */
const TEXTS: Partial<Record<EventColumn, (value: unknown) => string | null>> = {
  pool_id: uuid,
  ref: (value) => (/^0x0+$/.test(String(value)) ? null : uuid(value)),
  account: lower,
  draw_time: atMost(Date.UTC(9999, 11, 31) / 1000),
  seq: atMost(Number.MAX_SAFE_INTEGER),
};

/** The columns of a row by its log, as far as they can be told; undefined for a log of another event. */
export function wantedOf(row: StoredEvent, header: Header, log: RawLog): Columns | undefined {
  const ofAll = {
    block_hash: header.hash,
    block_time: timeOf(header.timestamp),
    tx_hash: log.transactionHash,
    contract: lower(log.address),
  };
  try {
    if (row.isOurs) return { ...ofOurs(log), ...ofAll };
    return { ...(row.isVault ? ofVault(row, log) : {}), ...ofAll };
  } catch {
    return undefined;
  }
}

function ofOurs({ topics, data }: RawLog): Columns {
  const { eventName, args } = decodeEventLog({ abi: eventsAbi, topics, data });
  const columns = Object.entries(args).map(([name, value]) => {
    const column = PARAMETERS[name as keyof typeof PARAMETERS];
    return [column, (TEXTS[column] ?? String)(value)];
  });
  return {
    ...Object.fromEntries(COLUMNS.map((column) => [column, null])),
    ...(Object.fromEntries(columns) as Columns),
    kind: eventName,
  };
}

/** What logs of ERC-4626 say of shares. It shares no code with the adapter on purpose. */
const vaultAbi = parseAbi([
  'event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares)',
  'event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

/**
 * Of the amount paid out for shares, the second row must have the rest that the first leaves. How the amount is split,
 * and what transferred shares have cost, is checked by the share model.
 */
function ofVault(
  { kind, index, isPool, otherAmount }: StoredEvent,
  { address, topics, data }: RawLog,
): Columns {
  const isSecond = BigInt(index) >= SECOND;
  const of = (account: string): Columns => ({
    account: lower(account),
    pool_name: lower(isPool ? address : account),
  });
  const bought = (owner: string, assets: bigint, shares: bigint): Columns => ({
    ...{ kind: 'Deposited', ...of(owner) },
    ...{ amount: `${assets}`, shares: `${shares}` },
  });
  const sold = (owner: string, assets: bigint, shares: bigint): Columns => {
    if (isSecond)
      return {
        kind: 'YieldClaimed',
        ...of(owner),
        amount: `${assets - BigInt(otherAmount ?? 0)}`,
        shares: '0',
      };
    const read = { pool_name: lower(owner), amount: `${assets}` };
    const isRead = kind === 'SharesSold';
    return { kind: isRead ? kind : 'Withdrawn', ...of(owner), shares: `${shares}`, ...(isRead ? read : {}) };
  };
  const { eventName, args } = decodeEventLog({ abi: vaultAbi, topics, data });
  if (eventName === 'Deposit') return bought(args.owner, args.assets, args.shares);
  if (eventName === 'Withdraw') return sold(args.owner, args.assets, args.shares);
  const { from, to, value } = args;
  // Without such an event, shares are minted and burned for nothing.
  if (from === zeroAddress) return bought(to, 0n, value);
  if (to === zeroAddress) return sold(from, 0n, value);
  const shares = `${value}`;
  if (isSecond) return { kind: 'Withdrawn', ...of(from), shares };
  if (kind !== 'SharesMoved') return { kind: 'Deposited', ...of(to), shares };
  return { kind, account: lower(to), pool_name: lower(from), shares, amount: null };
}

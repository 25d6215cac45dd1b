import type { TransactionType } from '#values/types';
import type { Kind, PoolKind } from '#ledger/adapters/happening';
import type { ChainEvent } from './decode';

/** The type of the row in `transactions` that an event of a pool has; null if it moves no money. */
export const MOVEMENTS = {
  Deposited: 'DEPOSIT',
  Withdrawn: 'WITHDRAWAL',
  YieldClaimed: 'YIELD_CLAIM',
  YieldAccrued: null,
  CompoundingStarted: null,
  CompoundingStopped: null,
  CircleOpened: null,
  MemberNamed: null,
  Joined: 'DEPOSIT',
  CircleStarted: null,
  Contributed: 'DEPOSIT',
  CollateralUsed: null,
  RoundEnded: null,
  CircleCompleted: null,
  CircleCancelled: null,
  PaidOut: 'WITHDRAWAL',
  CircleRefunded: 'WITHDRAWAL',
  PoolOpened: null,
} as const satisfies Record<PoolKind, TransactionType | null>;

/** SQL: the type of the row, by the kind in a column. */
export const typeOf = (kind: string): string =>
  `CASE ${kind} ${Object.entries(MOVEMENTS)
    .map(([name, type]) => (type ? `WHEN '${name}' THEN '${type}'` : ''))
    .join(' ')} END`;

/** Kinds by which money comes into a pool or leaves it. */
export const MONEY_KINDS: readonly Kind[] = [
  'YieldAccrued',
  ...(Object.keys(MOVEMENTS) as PoolKind[]).filter((kind) => MOVEMENTS[kind] !== null),
];

/** The others anyone can have a contract say of any pool, at no cost: they name no pool, keep none and bring none back. */
export const movesMoney = ({ kind, amount }: Pick<ChainEvent, 'kind' | 'amount'>): boolean =>
  MONEY_KINDS.includes(kind) && amount !== null && amount !== '0';
/** SQL: the same of event `e`. `cancel_pool` and `verify` say it too. */
export const MOVES_MONEY = `e.kind IN (${MONEY_KINDS.map((kind) => `'${kind}'`).join(', ')}) AND e.amount > 0`;

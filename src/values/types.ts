export const POOL_TYPES = ['individual', 'cooperative', 'lottery', 'rotating'] as const;
export type PoolType = (typeof POOL_TYPES)[number];
/** The type whose contracts hold draws and sell tickets for them. */
export const TYPE_WITH_DRAWS = 'lottery' satisfies PoolType;

/** The type whose contracts hold circles of savers who take turns. */
export const TYPE_WITH_CIRCLES = 'rotating' satisfies PoolType;

/** A value for each pool type. */
export const byPoolType = <T>(value: (type: PoolType) => T): Record<PoolType, T> =>
  Object.fromEntries(POOL_TYPES.map((type) => [type, value(type)])) as Record<PoolType, T>;

export const TRANSACTION_TYPES = ['DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM'] as const;
export type TransactionType = (typeof TRANSACTION_TYPES)[number];

export const TRANSACTION_STATUSES = ['PENDING', 'CONFIRMED', 'EXPIRED'] as const;
export type TransactionStatus = (typeof TRANSACTION_STATUSES)[number];

export const DRAW_STATUSES = ['ACTIVE', 'DRAWING', 'COMPLETED', 'CANCELLED'] as const;
export type DrawStatus = (typeof DRAW_STATUSES)[number];

export const CIRCLE_STATES = ['JOINING', 'RUNNING', 'COMPLETED', 'CANCELLED'] as const;
export type CircleState = (typeof CIRCLE_STATES)[number];

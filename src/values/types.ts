export const POOL_TYPES = ['individual', 'cooperative', 'lottery', 'rotating'] as const;
export type PoolType = (typeof POOL_TYPES)[number];

export const TRANSACTION_TYPES = ['DEPOSIT', 'WITHDRAWAL', 'YIELD_CLAIM'] as const;
export type TransactionType = (typeof TRANSACTION_TYPES)[number];

export const TRANSACTION_STATUSES = ['PENDING', 'CONFIRMED', 'EXPIRED'] as const;
export type TransactionStatus = (typeof TRANSACTION_STATUSES)[number];

export const DRAW_STATUSES = ['ACTIVE', 'DRAWING', 'COMPLETED', 'CANCELLED'] as const;
export type DrawStatus = (typeof DRAW_STATUSES)[number];

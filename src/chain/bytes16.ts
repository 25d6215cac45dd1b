import type { Hex } from 'viem';

/** A UUID as the contracts take it. */
export const bytes16 = (uuid: string): Hex => `0x${uuid.replaceAll('-', '').toLowerCase()}`;

import { partOf, statement } from '#platform/postgres/statement';
import { OTHER_CONTRACTS } from '#ledger/chain/chain.sql';
import { HERE } from '#ledger/outbox/outbox.sql';
import { USER_ANALYTICS } from '#features/analytics/analytics.sql';
import { CURRENT_DRAW, LIST_TICKETS, LIST_WINNERS } from '#features/lottery/lottery.sql';
import { LIST_POOLS } from '#features/pools/pools.sql';
import { LIST_POSITIONS } from '#extensions/positions/positions.sql';
import { LIST_TRANSACTIONS } from '#features/transactions/transactions.sql';
import { PROFILE } from '#features/auth/users.sql';

export const LIMITS = { pools: 50, positions: 100, transactions: 8, entries: 5, winners: 3 } as const;
export type StartList = keyof typeof LIMITS;

const page = (list: StartList): { limit: number; offset: number } => ({ limit: LIMITS[list], offset: 0 });

const LISTS: Record<StartList, string> = {
  pools: partOf(LIST_POOLS, { ...page('pools'), type: null, after: null }),
  positions: partOf(LIST_POSITIONS, page('positions')),
  transactions: partOf(LIST_TRANSACTIONS, { ...page('transactions'), type: null }),
  entries: partOf(LIST_TICKETS, page('entries')),
  winners: partOf(LIST_WINNERS, { ...page('winners'), drawnAtMs: null, drawId: null, contract: null }),
};
export const LIST_NAMES = Object.keys(LISTS) as StartList[];

type Lists = Record<StartList, string> & Record<`${StartList}Total`, number>;

export interface StartRow extends Lists {
  user: string;
  analytics: string;
  draw: string | null;
  otherContracts: string[];
  xid: string;
  position: string;
  item: number;
}

/**
 * What the parts of the service return for a caller, and the place of events that follow, at one moment: a statement
 * has one snapshot. Each part is the statement of the part's own endpoint. No row: the user no longer exists.
 */
export const START = statement<
  { user: string; caller: string; expiresAt: string; chainId: number | null },
  StartRow
>(
  'start',
  { user: 'uuid', caller: 'text', expiresAt: 'text', chainId: 'bigint' },
  `
    SELECT profile.data AS "user", analytics.data AS analytics, draw.data AS draw,
      ${OTHER_CONTRACTS} AS "otherContracts", here.*,
      ${LIST_NAMES.map((name) => `${name}.data AS "${name}", ${name}.total AS "${name}Total"`).join(`,
      `)}
    FROM (${partOf(PROFILE, {})}) profile
    CROSS JOIN (${partOf(USER_ANALYTICS, {})}) analytics
    CROSS JOIN ${HERE} here
    ${LIST_NAMES.map((name) => `CROSS JOIN (${LISTS[name]}) ${name}`).join(`
    `)}
    LEFT JOIN (${partOf(CURRENT_DRAW, {})}) draw ON true`,
  { onStandby: true, chargedTo: 'caller' },
);

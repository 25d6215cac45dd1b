import { compareBlocks } from '#verify/checks/blocks';
import { compareBlocksAtNode, compareEventsAtNode } from '#verify/checks/node';
import { compareBalances, comparePoolsAtChain, compareSeqs, compareValues } from '#verify/checks/chain';
import { NEXT_CONTRACTS } from '#verify/checks/chain.sql';
import { tellCompleteness } from '#verify/checks/completeness';
import * as derived from '#verify/checks/derived';
import { compareDerived } from '#verify/checks/compare';
import * as sql from '#verify/checks/derived.sql';
import { compareEvents, compareTimes } from '#verify/checks/ledger';
import type { Look, Part } from '#verify/checks/look';
import { compareFormer, comparePositions } from '#verify/checks/positions';
import { compareCircles, compareNoCircles } from '#verify/checks/circles';
import { compareShares } from '#verify/checks/shares';
import { FIRST_HOLDER, NEXT_HOLDERS } from '#verify/checks/shares.sql';
import { comparePublished } from '#verify/checks/published';

interface Check {
  readonly name: string;
  /** Whether it compares data that was read from the chain. */
  readonly ofChain: boolean;
  /** What it requests from the endpoints, if anything: blocks, or the contracts' own values. */
  readonly asks?: 'blocks' | 'contracts';
}
/** A check in one piece. */
export interface Whole extends Check {
  readonly compare: (look: Look) => Promise<void>;
}
interface Walk extends Check {
  /** The table whose estimated number of rows is the length of the walk. */
  readonly table: string;
  readonly first: string;
  /** The batch size, where it differs. */
  readonly atOnce?: readonly [number, number];
}
/** A check of one batch of keys after another. */
export interface Keyed extends Walk {
  /** The next keys; fewer than `limit` at the end. */
  readonly keys: (look: Look, after: string, limit: number) => Promise<string[]>;
  readonly compare: (look: Look, keys: string[]) => Promise<void>;
}
/** A check in steps that are not lists of keys. */
export interface Stepped extends Walk {
  readonly step: (look: Look, after: string, limit: number) => Promise<Part>;
  /** Compares again what differed, by the ids of the differences. */
  readonly again?: (look: Look, ids: string[]) => Promise<void>;
}

/** A walk's batch size: the first and the largest. */
const AT_ONCE = [50, 5000] as const;

/** Runs a check from its beginning to its end. @param note gets the rows of each step, and the share that is done */
export async function runCheck(
  check: Whole | Keyed | Stepped,
  look: Look,
  note: (rows: number, share: number) => void = () => undefined,
): Promise<void> {
  if (!('first' in check)) return check.compare(look);
  const total = await look.estimate(check.table);
  let done = 0;
  await look.goOn(check.first, check.atOnce ?? AT_ONCE, async (after, limit) => {
    const { last, rows } = await stepOf(check, look, after, limit);
    done += rows;
    note(rows, done / total);
    return last;
  });
}

/** Runs the next step of a walk. */
export async function stepOf(walk: Keyed | Stepped, look: Look, after: string, limit: number): Promise<Part> {
  if ('step' in walk) return walk.step(look, after, limit);
  const keys = await walk.keys(look, after, limit);
  if (keys.length > 0) await walk.compare(look, keys);
  return { last: keys.length < limit ? null : keys.at(-1)!, rows: keys.length };
}

/** Pools on the chain. A round of continuous verification compares as many of them as it can. */
export const POOLS_AT_CHAIN: Stepped = {
  name: 'chain',
  ofChain: true,
  asks: 'contracts',
  table: 'pools',
  first: sql.FIRST_POOL,
  atOnce: [10, 200],
  step: comparePoolsAtChain,
  again: compareValues,
};

/** The keys of pools, also of those that do not exist and of which something is kept. */
const OF_POOLS = {
  table: 'pools',
  first: sql.FIRST_POOL,
  keys: (look: Look, after: string, limit: number): Promise<string[]> =>
    look.column(sql.NEXT_NAMED_POOLS, after, limit),
};

/**
 * All checks, in their order: those of events and of published events find the pools and draws of which nothing may be
 * derived again.
 */
export const CHECKS: (Whole | Keyed | Stepped)[] = [
  {
    name: 'events',
    ofChain: true,
    table: 'chain_events',
    // Contract and number.
    first: ' 0',
    atOnce: [1000, 5000],
    step: compareEvents,
  },
  { name: 'blocks on the chain', ofChain: true, asks: 'blocks', compare: compareBlocksAtNode },
  {
    name: 'events on the chain',
    ofChain: true,
    asks: 'blocks',
    table: 'chain_events',
    // Block and log index.
    first: '-1 -1',
    atOnce: [50, 500],
    step: compareEventsAtNode,
  },
  { name: 'blocks', ofChain: true, compare: compareBlocks },
  { name: 'published', ofChain: true, compare: comparePublished },
  {
    name: 'draws',
    ofChain: true,
    table: 'lottery_draws',
    // Contract and id.
    first: ' -1',
    atOnce: [1, 5000],
    keys: (look, after, limit) => look.column(sql.NEXT_DRAWS, ...after.split(' '), limit),
    compare: derived.compareDraws,
  },
  {
    name: 'shares',
    ofChain: true,
    table: 'share_holdings',
    first: FIRST_HOLDER,
    keys: (look, after, limit) => look.column(NEXT_HOLDERS, ...after.split(' '), limit),
    compare: compareShares,
  },
  { name: 'shareTotals', ofChain: true, compare: (look: Look) => compareDerived(look, [sql.SHARE_TOTALS]) },
  { name: 'winners', ofChain: true, compare: (look: Look) => compareDerived(look, [sql.WINNERS]) },
  {
    name: 'set aside',
    ofChain: true,
    // While events are in doubt, the counts may be what is right.
    compare: (look: Look) => compareDerived(look, [sql.SET_ASIDE], [], !look.findings.hasDisputes),
  },
  { name: 'names', ofChain: true, compare: derived.compareNames },
  { name: 'ledger', ofChain: true, ...OF_POOLS, compare: compareTimes },
  { name: 'pools', ofChain: false, ...OF_POOLS, compare: derived.comparePools },
  {
    name: 'positions',
    ofChain: true,
    ...OF_POOLS,
    async compare(look, ids) {
      const clear = ids.filter((id) => !look.findings.isDisputed(id));
      if (clear.length === 0) return;
      await compareCircles(look, clear);
      await comparePositions(look, clear);
    },
  },
  { name: 'totals', ofChain: false, compare: (look: Look) => compareDerived(look, [sql.TOTALS]) },
  { name: 'unpaid', ofChain: false, compare: derived.compareUnpaid },
  {
    name: 'former',
    ofChain: true,
    async compare(look: Look) {
      await compareFormer(look);
      await compareNoCircles(look);
    },
  },
  {
    name: 'addresses',
    ofChain: false,
    table: 'users',
    first: '',
    keys: (look, after, limit) => look.column(sql.NEXT_ADDRESSES, after, limit),
    compare: derived.compareAddresses,
  },
  {
    name: 'contracts',
    ofChain: true,
    asks: 'contracts',
    table: 'chain_contracts',
    first: '',
    keys: (look, after, limit) => look.column(NEXT_CONTRACTS, after, limit),
    compare: compareSeqs,
  },
  { name: 'completeness', ofChain: true, asks: 'contracts', compare: tellCompleteness },
  POOLS_AT_CHAIN,
  {
    name: 'shares on the chain',
    ofChain: true,
    asks: 'contracts',
    table: 'share_holdings',
    first: FIRST_HOLDER,
    atOnce: [20, 500],
    keys: (look, after, limit) => look.column(NEXT_HOLDERS, ...after.split(' '), limit),
    compare: compareBalances,
  },
];

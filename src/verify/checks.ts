import { compareBlocks } from '#verify/checks/blocks';
import { compareBlocksAtNode, compareEventsAtNode } from '#verify/checks/node';
import { compareBalances, comparePoolsAtChain, compareSeqs, compareValues } from '#verify/checks/chain';
import { NEXT_CONTRACTS } from '#verify/checks/chain.sql';
import { tellCompleteness } from '#verify/checks/completeness';
import * as derived from '#verify/checks/derived';
import { compareEvents } from '#verify/checks/ledger';
import type { Look, Part } from '#verify/checks/look';
import { NEXT_DRAWS } from '#verify/checks/lottery.sql';
import { NEXT_ADDRESSES } from '#verify/checks/members.sql';
import { FIRST_POOL } from '#verify/checks/pools.sql';
import { compareFormer, comparePositions } from '#verify/checks/positions';
import { NEXT_POOLS } from '#verify/checks/positions.sql';
import { compareCircles, compareNoCircles } from '#verify/checks/circles';
import { compareShareTotals, compareShares } from '#verify/checks/shares';
import { FIRST_HOLDER, NEXT_HOLDERS } from '#verify/checks/shares.sql';
import { compareTold } from '#verify/checks/told';

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
  first: FIRST_POOL,
  atOnce: [10, 200],
  step: comparePoolsAtChain,
  again: compareValues,
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
  { name: 'told', ofChain: true, compare: compareTold },
  {
    name: 'draws',
    ofChain: true,
    table: 'lottery_draws',
    // Contract and id.
    first: ' -1',
    atOnce: [1, 5000],
    keys: (look, after, limit) => look.column(NEXT_DRAWS, ...after.split(' '), limit),
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
  { name: 'shareTotals', ofChain: true, compare: compareShareTotals },
  { name: 'counts', ofChain: true, compare: derived.compareCounts },
  { name: 'names', ofChain: true, compare: derived.compareNames },
  {
    name: 'pools',
    ofChain: false,
    table: 'pools',
    first: FIRST_POOL,
    keys: (look, after, limit) => look.column(NEXT_POOLS, after, limit),
    async compare(look, ids) {
      await derived.comparePools(look, ids);
      const clear = ids.filter((id) => !look.findings.isDisputed(id));
      if (!look.mode.hasEvents || clear.length === 0) return;
      await compareCircles(look, clear);
      await comparePositions(look, clear);
    },
  },
  { name: 'totals', ofChain: false, compare: derived.compareTotals },
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
    keys: (look, after, limit) => look.column(NEXT_ADDRESSES, after, limit),
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

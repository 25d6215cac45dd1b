import { compareBlocks } from '#verify/checks/blocks';
import { compareBlocksAtNode, compareEventsAtNode } from '#verify/checks/node';
import { compareBalances, compareHoldings, compareSeqs } from '#verify/checks/chain';
import { NEXT_CONTRACTS, NEXT_VALUES } from '#verify/checks/chain.sql';
import { compareCircles } from '#verify/checks/circles';
import { compareDerived } from '#verify/checks/compare';
import { tellCompleteness } from '#verify/checks/completeness';
import * as sql from '#verify/checks/derived.sql';
import { COMPARE_EVENTS, COMPARE_LEDGER_ROWS, NEXT_EVENTS } from '#verify/checks/events.sql';
import type { Doubt } from '#verify/checks/findings';
import { type Look, Stopped, wordsOf } from '#verify/checks/look';
import { NEXT_BLOCKS, NEXT_STORED } from '#verify/checks/node.sql';
import { comparePositions } from '#verify/checks/positions';
import { comparePublished } from '#verify/checks/published';
import { NEXT_HOLDERS, compareShares } from '#verify/checks/shares';

/** A comparison in batches of keys. */
interface Walk {
  /** The table whose estimated number of rows is the length of the walk. */
  readonly table: string;
  /** Sorts before all keys. */
  readonly first: string;
  /** SQL: the next keys, in order. Parameters: each word of the key to go on after, as many as `first` has; limit. */
  readonly next: string;
  /** The size of a batch: the first and the largest. */
  readonly atOnce: readonly [number, number];
  /** The key behind all that cannot be compared if this one cannot; the key itself, if left out. */
  readonly behind?: (key: string) => string;
}
/** One comparison: of everything at once, or of one batch of keys after another. */
export interface Check {
  readonly name: string;
  /** What it requests from the endpoints, if anything: blocks, or the contracts' own values. The latter differ by their keys. */
  readonly asks?: 'blocks' | 'contracts';
  readonly walk?: Walk;
  readonly compare: (look: Look, keys: string[]) => Promise<void>;
}

/** A statement took too long, or computed a value that is impossible. */
const NOT_COMPUTED = /^(57014|22)/;

/** Compares the next batch. A key that cannot be compared is left out, and named. @returns its keys, and where the next one continues: null at the end */
export async function nextBatch(
  check: Check,
  look: Look,
  after: string,
  limit: number,
): Promise<{ keys: string[]; last: string | null }> {
  const { walk, compare } = check;
  const { findings } = look;
  // Differences found before stay, even if this batch is compared again.
  findings.take();
  if (!walk) {
    await compare(look, []);
    return { keys: [''], last: null };
  }
  const words = after.split(' ');
  const keys = await look.column(walk.next, ...walk.first.split(' ').map((_, i) => words[i] ?? ''), limit);
  try {
    if (keys.length > 0) await compare(look, keys);
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (!NOT_COMPUTED.test(code ?? '')) throw error;
    findings.take(limit === 1);
    if (limit > 1) return nextBatch(check, look, after, 1);
    findings.skip(`${check.name} of ${keys[0]}: ${message}`);
    return { keys, last: walk.behind?.(keys[0]) ?? keys[0] };
  }
  findings.count(check.name, keys.length);
  return { keys, last: keys.length < limit ? null : keys.at(-1)! };
}

/** Time that one batch should take: long enough to be efficient, short enough not to delay requests. */
const TARGET_MS = 250;

/**
 * Runs a check from its beginning to its end. The time that each batch takes determines the size of the next one.
 * @param note gets the share that is done, after each batch
 */
export async function runCheck(
  check: Check,
  look: Look,
  note: (share: number) => void = () => undefined,
): Promise<void> {
  const { first, atOnce, table } = check.walk ?? { first: '', atOnce: [1, 1] };
  const total = table ? await look.estimate(table) : 1;
  let [limit, done] = [atOnce[0], 0];
  for (let after: string | null = first; after !== null;) {
    if (look.mode.signal.aborted) throw new Stopped('stopped before the end');
    const begun = performance.now();
    const { keys, last } = await nextBatch(check, look, after, limit);
    const elapsed = performance.now() - begun;
    if (elapsed > 2 * TARGET_MS) limit = Math.max(1, limit >> 1);
    else if (elapsed < TARGET_MS / 2) limit = Math.min(atOnce[1], limit * 2);
    done += keys.length;
    note(done / total);
    after = last;
  }
}

const BATCH = [50, 5000] as const;
/** Pools, and ids of missing pools of which rows remain. */
const OF_POOLS: Walk = { table: 'pools', first: sql.FIRST_POOL, next: sql.NEXT_NAMED_POOLS, atOnce: BATCH };
/** Vaults and accounts. */
const OF_HOLDERS: Walk = { table: 'share_holdings', first: ' ', next: NEXT_HOLDERS, atOnce: BATCH };

/**
 * All checks, in their order: those of events and of published events find the pools and draws of which nothing may be
 * derived again.
 */
export const CHECKS: readonly Check[] = [
  {
    name: 'events',
    // Contract and number.
    walk: { table: 'chain_events', first: ' 0', next: NEXT_EVENTS, atOnce: [1000, 5000] },
    compare: async (look, keys) =>
      look.findings.doubt(await look.rows<Doubt>(COMPARE_EVENTS, ...wordsOf(keys))),
  },
  {
    name: 'blocks on the chain',
    asks: 'blocks',
    walk: { table: 'chain_blocks', first: '-1', next: NEXT_BLOCKS, atOnce: [200, 200] },
    compare: compareBlocksAtNode,
  },
  {
    name: 'events on the chain',
    asks: 'blocks',
    // Block and log index.
    walk: { table: 'chain_events', first: '-1 -1', next: NEXT_STORED, atOnce: [50, 200] },
    compare: compareEventsAtNode,
  },
  { name: 'blocks', compare: compareBlocks },
  { name: 'published', compare: comparePublished },
  {
    name: 'draws',
    // Contract and id.
    walk: { table: 'lottery_draws', first: ' -1', next: sql.NEXT_DRAWS, atOnce: [1, 5000] },
    compare: (look, keys) =>
      compareDerived(look, sql.DRAWS, wordsOf(keys), (draw) => !look.findings.isDisputed(draw)),
  },
  { name: 'shares', walk: OF_HOLDERS, compare: compareShares },
  { name: 'shareTotals', compare: (look) => compareDerived(look, [sql.SHARE_TOTALS]) },
  { name: 'winners', compare: (look) => compareDerived(look, [sql.WINNERS]) },
  {
    name: 'set aside',
    // While events are in doubt, the counts may be what is right.
    compare: (look) => compareDerived(look, [sql.SET_ASIDE], [], () => !look.findings.hasDisputes),
  },
  { name: 'names', compare: (look) => compareDerived(look, sql.NAMES) },
  {
    name: 'ledger',
    walk: OF_POOLS,
    compare: async (look, ids) => look.findings.doubt(await look.rows<Doubt>(COMPARE_LEDGER_ROWS, ids)),
  },
  {
    name: 'pools',
    walk: OF_POOLS,
    compare: (look, ids) => compareDerived(look, sql.OF_POOLS, [ids]),
  },
  {
    name: 'positions',
    walk: OF_POOLS,
    async compare(look, ids) {
      const clear = ids.filter((id) => !look.findings.isDisputed(id));
      if (clear.length === 0) return;
      await compareCircles(look, clear);
      await comparePositions(look, clear);
    },
  },
  { name: 'totals', compare: (look) => compareDerived(look, [sql.TOTALS]) },
  { name: 'unpaid', compare: (look) => compareDerived(look, [sql.CANCELLED]) },
  {
    name: 'addresses',
    walk: { table: 'users', first: '', next: sql.NEXT_ADDRESSES, atOnce: BATCH },
    compare: (look, addresses) => compareDerived(look, sql.OF_ADDRESSES, [addresses]),
  },
  {
    name: 'contracts',
    asks: 'contracts',
    walk: { table: 'chain_contracts', first: '', next: NEXT_CONTRACTS, atOnce: BATCH },
    compare: compareSeqs,
  },
  { name: 'completeness', asks: 'contracts', compare: tellCompleteness },
  {
    name: 'chain',
    asks: 'contracts',
    // Pools, and pools with an account. Anyone can add accounts to a pool, so each is a key.
    walk: {
      table: 'positions',
      first: `${sql.FIRST_POOL} `,
      next: NEXT_VALUES,
      atOnce: [50, 500],
      behind: (key) => `${key.split(' ')[0]} ~`,
    },
    compare: compareHoldings,
  },
  {
    name: 'shares on the chain',
    asks: 'contracts',
    walk: { ...OF_HOLDERS, atOnce: [20, 500] },
    compare: compareBalances,
  },
];

import type { Client } from 'pg';
import { BlockComparison } from '#verify/blocks/blocks';
import type { Mode } from '#verify/checks/derived';
import type { Difference, Findings } from '#verify/checks/findings';
import { NEXT_ADDRESSES } from '#verify/checks/days.sql';
import { NEXT_DRAWS } from '#verify/checks/lottery.sql';
import { NEXT_POOLS } from '#verify/checks/positions.sql';
import { FIRST_HOLDER, ShareComparison } from '#verify/shares/shares';
import { NEXT_HOLDERS } from '#verify/shares/shares.sql';
import { ToldComparison } from '#verify/told/told';
import { Walk as Going } from '#verify/checks/walk';

/** Events that one step of `events` goes over. */
const EVENTS_AT_ONCE = 1000;
/** Deposits and cancelled pools that one look tells of. */
const MOST_UNPAID = 100;
/** What is compared as a whole rests for so many times what it took, so that it takes a hundredth of the time at most. */
const REST = 100;

/** One comparison of a key. */
export class Look {
  readonly derived: ShareComparison;

  /** @param signal aborts the comparison if it takes too long */
  constructor(
    readonly client: Client,
    readonly findings: Findings,
    readonly mode: Mode,
    readonly signal: AbortSignal,
  ) {
    this.derived = new ShareComparison(client, findings, mode);
  }
}

/** Something that is gone over key by key, over and over: all that `npm run verify` compares without the chain. */
export interface Walk {
  readonly name: string;
  /** Whose rows tell how many keys there are about. */
  readonly table: string;
  readonly first: string;
  readonly rowsOfKey: number;
  /** Whether it is about what was read from the chain. */
  readonly ofChain: boolean;
  /** Whether `compare` tells where to go on. */
  readonly bySteps: boolean;
  /** The next keys; fewer than `limit` at the end, or one if it goes by steps. */
  next(client: Client, after: string, limit: number): Promise<string[]>;
  /** @returns where to go on, null at the end; undefined: behind the key */
  compare(look: Look, key: string): Promise<string | null | undefined>;
}

const pools: Walk = {
  name: 'pools',
  bySteps: false,
  table: 'pools',
  rowsOfKey: 1,
  ofChain: false,
  first: '00000000-0000-0000-0000-000000000000',
  next: (client, after, limit) => column(client, NEXT_POOLS, after, limit),
  async compare({ derived, mode }, id) {
    await derived.pools([id]);
    if (mode.hasEvents) await derived.positions([id]);
    return undefined;
  },
};

const addresses: Walk = {
  name: 'addresses',
  bySteps: false,
  table: 'users',
  rowsOfKey: 1,
  ofChain: false,
  first: '',
  next: (client, after, limit) => column(client, NEXT_ADDRESSES, after, limit),
  async compare({ derived }, address) {
    await derived.addresses([address]);
    return undefined;
  },
};

/** A key is the contract and number of the event to go on after. */
const events: Walk = {
  name: 'events',
  bySteps: true,
  table: 'chain_events',
  rowsOfKey: EVENTS_AT_ONCE,
  ofChain: true,
  first: ' 0',
  next: (_, after) => Promise.resolve([after]),
  async compare({ derived }, after) {
    const [contract, seq] = after.split(' ');
    const last = await derived.events({ contract, seq }, EVENTS_AT_ONCE);
    return last ? `${last.contract} ${last.seq}` : null;
  },
};

const draws: Walk = {
  name: 'draws',
  bySteps: false,
  table: 'lottery_draws',
  rowsOfKey: 1,
  ofChain: true,
  first: ' -1',
  async next(client, after, limit) {
    const values = [...after.split(' '), limit];
    const { rows } = await client.query<{ contract: string; drawId: string }>(NEXT_DRAWS, values);
    return rows.map(({ contract, drawId }) => `${contract} ${drawId}`);
  },
  async compare({ derived }, key) {
    const [contract, drawId] = key.split(' ');
    await derived.draws([{ contract, drawId }]);
    return undefined;
  },
};

/** A key is a vault and an account. */
const shares: Walk = {
  name: 'shares',
  bySteps: false,
  table: 'share_holdings',
  rowsOfKey: 1,
  ofChain: true,
  first: FIRST_HOLDER,
  next: (client, after, limit) => column(client, NEXT_HOLDERS, ...after.split(' '), limit),
  async compare({ derived }, key) {
    await derived.holdings([key]);
    return undefined;
  },
};

/** Data that is always compared completely. */
const WHOLE: Record<string, (look: Look) => Promise<void>> = {
  former: ({ derived }) => derived.formerOfNone(),
  totals: ({ derived }) => derived.totals('0'),
  unpaid: ({ derived }) => derived.unpaid(MOST_UNPAID),
};
/** The same, for data read from the chain. */
const WHOLE_OF_CHAIN: typeof WHOLE = {
  blocks: ({ client, findings, mode }) => new BlockComparison(client, findings, mode).compare(),
  counts: ({ derived }) => derived.counts(),
  names: ({ derived }) => derived.names(),
  shareTotals: ({ derived }) => derived.shareTotals(),
  told: ({ client, findings, mode, signal }) =>
    new ToldComparison(client, findings, mode).compare(new Going(client, signal), () => undefined),
};

/** One comparison after another. If counting all pools or a week's published events takes too long, use the command. */
const sums = (): Walk => {
  const all = { ...WHOLE, ...WHOLE_OF_CHAIN };
  const resting = new Map<string, { until: number; found: Difference[] }>();
  const names = Object.keys(all).sort();
  return {
    name: 'sums',
    bySteps: true,
    table: 'pool_totals',
    rowsOfKey: 1,
    ofChain: false,
    first: '',
    next: (_, after) => Promise.resolve(names.filter((name) => name > after).slice(0, 1)),
    async compare(look, name) {
      const next = name === names.at(-1) ? null : name;
      if (name in WHOLE_OF_CHAIN && !look.mode.hasEvents) return next;
      const start = Date.now();
      const last = resting.get(name);
      // While a comparison rests, its findings stay.
      if (last && start < last.until) last.found.forEach((each) => look.findings.add(each));
      else {
        let found = last?.found ?? [];
        try {
          await all[name](look);
          found = look.findings.report().listed;
        } finally {
          resting.set(name, { until: Date.now() + REST * (Date.now() - start), found });
        }
      }
      return next;
    },
  };
};

export const walks = (): Walk[] => [pools, addresses, events, draws, shares, sums()];

async function column(client: Client, text: string, ...values: unknown[]): Promise<string[]> {
  const { rows } = await client.query<Record<string, string>>(text, values);
  return rows.map((row) => Object.values(row)[0]);
}

import { type Client } from 'pg';
import type { Confirmations } from '#settings/indexer.settings';
import type { Mark } from '#indexer/reading/finality';
import { connect } from '#indexer/leading/leader';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import { type Applied, EventWriter } from '#indexer/ledger/event-writer';
import type { Kind } from '#ledger/adapters/happening';
import type { ChainEvent } from '#indexer/reading/decode';
import { type Block, MAX_PLACES } from '#indexer/reading/raw-chain';
import { WINDOW_BLOCKS } from '#indexer/reading/block-batch';
import { type TestDatabase, freshDatabase, urlAs } from '../database';
import { NO_FIELDS } from './adapters';
import { ownership } from '../ledger';
import { type PublishedRow, READ_ALL, TOLD, foldOutbox } from '../events/outbox';

export const SAVER = `0x${'5a'.repeat(20)}`;
export const OTHER = `0x${'0b'.repeat(20)}`;
export const POOLS_CONTRACT = `0x${'c1'.repeat(20)}`;
export const OTHER_CONTRACT = `0x${'c2'.repeat(20)}`;
export const LOTTERY = `0x${'d1'.repeat(20)}`;
export const NEW_LOTTERY = `0x${'d2'.repeat(20)}`;
const DAY = 86_400;
/** Time of block 0, in seconds: a midnight five days ago, since events of blocks older than seven days are not published. */
export const GENESIS = DAY * (Math.floor(Date.now() / 1000 / DAY) - 5);
/** Seconds. */
export const TTL = 3600;

export interface PaperBlock extends Block {
  events: ChainEvent[];
}

const word = (...parts: (string | number)[]): string =>
  `0x${Buffer.from(parts.join(' ')).toString('hex').slice(-64).padStart(64, '0')}`;

export type Sketch = { kind: Kind; second?: Sketch } & Partial<Omit<ChainEvent, 'second'>>;

/** Blocks as the reading side hands them over, without a node: any event, any fork. */
export class PaperChain {
  readonly blocks: PaperBlock[];

  constructor(
    blocks?: PaperBlock[],
    readonly isNumbered = true,
  ) {
    this.blocks = blocks ?? [
      { number: 0, hash: word('genesis'), parentHash: word('none'), time: GENESIS, events: [] },
    ];
  }

  get head(): PaperBlock {
    return this.blocks.at(-1)!;
  }

  /** Another chain that has the blocks up to `number` in common. */
  fork(number: number): PaperChain {
    return new PaperChain(this.blocks.slice(0, number + 1), this.isNumbered);
  }

  /** Adds a block `seconds` after the last, with these events, numbered by contract if it numbers them. */
  add(sketches: Sketch[] = [], seconds = 12, salt = 0): PaperBlock {
    const { number, hash: parentHash, time } = this.head;
    const block = {
      number: number + 1,
      parentHash,
      time: time + seconds,
      hash: word('block', salt, number + 1),
    };
    const counts = new Map<string, number>();
    for (const { events } of this.blocks)
      for (const { contract } of events) counts.set(contract, (counts.get(contract) ?? 0) + 1);
    const events = sketches.map(({ second, ...sketch }, i): ChainEvent => {
      const contract = sketch.contract ?? POOLS_CONTRACT;
      counts.set(contract, (counts.get(contract) ?? 0) + 1);
      const event = {
        blockNumber: block.number,
        logIndex: i,
        blockHash: block.hash,
        time: block.time,
        txHash: word('tx', salt, block.number, i),
        contract,
        seq: this.isNumbered ? counts.get(contract)! : block.number * MAX_PLACES + i,
        ...NO_FIELDS,
      };
      return { ...event, ...sketch, ...(second && { second: { ...event, ...second } as ChainEvent }) };
    });
    this.blocks.push({ ...block, events });
    return this.head;
  }
}

/** An id as a contract has it. */
export const compact = (uuid: string): string => uuid.replaceAll('-', '');
export const paperId = (kind: string, n: number): string =>
  `${kind.repeat(8)}-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

/**
 * Everything that moves a pool or a draw, possible or not. Few pools, accounts, draws and amounts, so that they compete.
 * @param strange whether some events come from contracts that have no such events
 */
export function randomEvents(
  random: (below: number) => number,
  { pools, refs = [], strange = false }: { pools: string[]; refs?: string[]; strange?: boolean },
): Sketch[] {
  return Array.from({ length: random(5) }, (): Sketch => {
    const isStrange = (oneIn: number): boolean => strange && random(oneIn) === 0;
    const poolId = compact(random(12) ? pools[random(pools.length)] : paperId('f', random(3)));
    const account = random(4) ? SAVER : OTHER;
    const draw = {
      contract: isStrange(20) ? OTHER_CONTRACT : [LOTTERY, NEW_LOTTERY][random(2)],
      drawId: `${random(20) ? 1 + random(3) : 2n ** 64n - 1n}`,
    };
    const money = { poolId, account, ...(isStrange(15) && { contract: OTHER_CONTRACT }) };
    const ref = refs[random(2 * refs.length + 1)];
    const deposit = { ...money, amount: `${100 * (1 + random(3))}`, ref: ref ? compact(ref) : null };
    const aprBps = random(2) ? 2 ** 32 - 1 : random(900);
    const some: Sketch[] = [
      { kind: 'Deposited', ...deposit },
      { kind: 'Deposited', ...deposit },
      { kind: 'Withdrawn', ...money, amount: `${1 + random(300)}` },
      { kind: 'YieldClaimed', ...money, amount: `${random(9)}` },
      { kind: 'YieldAccrued', poolId, amount: `${random(99)}`, aprBps },
      { kind: 'DrawOpened', ...draw, amount: '5', drawTime: GENESIS + random(9999) },
      { kind: 'TicketsIssued', ...draw, account, amount: `${1 + random(9)}` },
      { kind: 'TicketsIssued', ...draw, account, amount: `${1 + random(9)}` },
      { kind: 'PrizeFunded', ...draw, account, amount: `${random(99)}` },
      { kind: 'DrawClosed', ...draw },
      { kind: 'DrawCompleted', ...draw, account, amount: `${random(99)}` },
      { kind: 'DrawCancelled', ...draw },
      { kind: 'PrizePaid', ...draw, account, amount: `${random(99)}` },
      { kind: 'Refunded', ...draw, account, amount: `${random(99)}` },
    ];
    return some[random(some.length)];
  });
}

/** A database that a chain is written to: one of its own if none is given. */
export class Written {
  client: Client;
  writer: EventWriter;
  cursor: ChainCursor;
  databaseUrl: string;
  /** The same for verifications and replays. */
  operatorUrl: string;
  private own?: TestDatabase;

  /** @returns a function that starts one, which ends with the test */
  static use(): (...given: Parameters<Written['start']>) => Promise<Written> {
    const open: Written[] = [];
    afterEach(async () => {
      for (const each of open.splice(0)) await each.stop();
    });
    return (...given) => {
      const written = new Written();
      open.push(written);
      return written.start(...given);
    };
  }

  async start(chain: PaperChain, confirmations: Confirmations = 0, database?: TestDatabase): Promise<this> {
    if (!database) this.own = database = await freshDatabase();
    this.databaseUrl = database.url;
    this.operatorUrl = urlAs(database.url, 'operator');
    this.client = await connect(database.url);
    this.confirm(confirmations);
    const [{ number, hash, time }] = chain.blocks;
    await this.client.query(
      `INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, beat_at)
       VALUES (1, $1, $2, $1, to_timestamp($3::bigint), $2, now())`,
      [hash, number, time],
    );
    await this.writer.blocks.keep([chain.blocks[0]]);
    await this.client.query(
      `INSERT INTO users VALUES (gen_random_uuid(), $1, now()), (gen_random_uuid(), $2, now())`,
      [SAVER, OTHER],
    );
    this.cursor = { ...chain.blocks[0], epoch: 0, applied: number };
    return this;
  }

  /** As after a start with this setting. */
  confirm(confirmations: Confirmations): void {
    const lotteries = new Set([LOTTERY, NEW_LOTTERY]);
    this.writer = new EventWriter(this.client, { confirmations, pendingTtl: TTL, lotteries });
  }

  async stop(): Promise<void> {
    await this.client?.end();
    await this.own?.drop();
  }

  async sql<Row>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.client.query(text, values)).rows as Row[];
  }

  /** The first column. */
  async column<T = string>(text: string, values?: unknown[]): Promise<T[]> {
    return (await this.sql<Record<string, T>>(text, values)).map((row) => Object.values(row)[0]);
  }

  /** A pool with announced deposits, as POST /pools makes it: all in one transaction. */
  async addPool(
    id: string,
    deposits: { id: string; amount: string; at: number; account?: string }[] = [],
  ): Promise<void> {
    await this.client.query('BEGIN');
    await this.client.query(
      `INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update)
       SELECT $1, 'cooperative', id, $2, to_timestamp($3), to_timestamp($3) FROM users WHERE address = $4`,
      [id, POOLS_CONTRACT, GENESIS, SAVER],
    );
    await this.client.query(`INSERT INTO pool_members VALUES ($1, $2, 'OWNER', 'cooperative')`, [id, SAVER]);
    for (const { id: deposit, amount, at, account = SAVER } of deposits)
      await this.client.query(
        `INSERT INTO transactions (id, pool_id, type, status, account, amount, requested_amount, created_at,
           owner_id, by_owner)
         VALUES ($1, $2, 'DEPOSIT', 'PENDING', $3, $4, $4, to_timestamp($5), ${ownership('$2', '$3::address')})`,
        [deposit, id, account, amount, at],
      );
    await this.client.query('COMMIT');
  }

  /**
   * Applies the chain's blocks after the cursor, up to block `to`, as one batch.
   * @param marks blocks of the chain that its nodes call safe and final
   */
  async apply(
    chain: PaperChain,
    to = chain.head.number,
    head = chain.head.number,
    marks: { safe?: number; finalized?: number } = {},
  ): Promise<Applied> {
    const mark = (number?: number): Mark | undefined =>
      number === undefined ? undefined : { number, hashes: [chain.blocks[number].hash] };
    const blocks = chain.blocks.slice(this.cursor.number + 1, to + 1);
    const events = blocks.flatMap((block) => block.events);
    const batch = { to: chain.blocks[to], blocks: blocks.slice(-WINDOW_BLOCKS), events };
    const applied = await this.writer.apply(this.cursor, batch, {
      state: 'syncing',
      head,
      marks: { safe: mark(marks.safe), finalized: mark(marks.finalized) },
    });
    this.cursor = applied.cursor;
    return applied;
  }

  async rewind(block: Block): Promise<void> {
    ({ cursor: this.cursor } = await this.writer.rewind(this.cursor, block));
  }

  /** All data that follows from the chain alone, after checking that the outbox and the counts agree with it. */
  async state(): Promise<Record<string, unknown>> {
    const state = await this.rows();
    expect(state.setAside).toEqual(state.counted);
    expect(foldOutbox(await this.sql<PublishedRow>(READ_ALL))).toEqual(await this.sql(TOLD));
    return state;
  }

  async rows(): Promise<Record<string, unknown>> {
    const tables: Record<string, string> = {
      transactions: `SELECT id, pool_id, type, status, account, amount, requested_amount, tx_hash, block_number,
        log_index, confirmed_at FROM transactions ORDER BY id`,
      pools: `SELECT id, balance, pending_balance, total_yield, claimed_yield, apr_bps, deposit_count,
        withdrawal_count, claim_count FROM pools ORDER BY id`,
      accruals: 'SELECT * FROM yield_accruals ORDER BY block_number, log_index',
      events: `SELECT block_number, log_index, outcome, reason, transaction_id, kind, amount FROM chain_events
        ORDER BY block_number, log_index`,
      draws: 'SELECT * FROM lottery_draws ORDER BY contract, draw_id',
      tickets: 'SELECT * FROM lottery_tickets ORDER BY contract, draw_id, account',
      circles: 'SELECT * FROM circles ORDER BY contract, circle_id',
      circleMembers: 'SELECT * FROM circle_members ORDER BY contract, circle_id, place',
      circleRounds: 'SELECT * FROM circle_rounds ORDER BY contract, circle_id, round',
      positions: 'SELECT * FROM positions ORDER BY pool_id, address',
      weights: 'SELECT * FROM pool_weights ORDER BY pool_id',
      rates: 'SELECT * FROM accrual_rates ORDER BY pool_id, number',
      winners: 'SELECT winners FROM lottery_totals',
      setAside: 'SELECT outcome, count FROM set_aside_counts WHERE count <> 0 ORDER BY outcome',
      counted: `SELECT outcome, count(*) FROM chain_events WHERE outcome NOT IN ('WAITING', 'APPLIED')
        GROUP BY outcome ORDER BY outcome`,
      cursor: 'SELECT block_number, block_hash FROM chain_cursor',
    };
    const rows: Record<string, unknown> = {};
    for (const [name, text] of Object.entries(tables)) rows[name] = await this.sql(text);
    return rows;
  }
}

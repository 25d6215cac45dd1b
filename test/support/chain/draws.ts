import type { DrawStatus } from '#values/types';
import type { TestApp } from '../app';

/** The lottery contract of these draws, and the last block that was read. */
export const LOTTERY = `0x${'d1'.repeat(20)}`;
export const LAST_BLOCK = 1000;
export const LAST_TIME = '2026-03-01T00:00:00.000Z';

/** Acts as if an indexer had read a chain up to that block, with a heartbeat that never becomes too old. */
export const knowLastBlock = (app: TestApp): Promise<unknown> =>
  app.sql(
    `INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, head_number,
       state, beat_at, progress_at)
     VALUES (5, '', $1, '', $2, $1, $1, 'synced', 'infinity', 'infinity')`,
    [LAST_BLOCK, LAST_TIME],
  );

/** As if an indexer had read a chain with this contract up to that block. */
export async function knowLottery(app: TestApp): Promise<void> {
  await app.sql(`INSERT INTO chain_contracts VALUES ('lottery', $1, 0, 1)`, [LOTTERY]);
  await app.sql('INSERT INTO chain_facts (chain_id) VALUES (5)');
  await knowLastBlock(app);
}

export interface DrawFields {
  status: DrawStatus;
  drawTime?: string;
  pickBlock?: number;
  winner?: string;
  paid?: boolean;
  contract?: string;
}

/** A draw with a prize of 800, at 5 a ticket. */
export async function addDraw(app: TestApp, drawId: number, fields: DrawFields): Promise<void> {
  const { status, drawTime = LAST_TIME, pickBlock = null, winner = null, paid = false, contract } = fields;
  await app.sql(
    `INSERT INTO lottery_draws (contract, draw_id, status, ticket_price, prize_pool, participants, total_tickets,
       draw_time, winner, winner_tickets, prize, drawn_at, pick_block, paid)
     SELECT $1, $2, $3, 5, 800, 1, 10, $4, $5, n, n * 800, $4::timestamptz + n * interval '1 hour', $6, $7
     FROM (SELECT CASE WHEN $5::text IS NOT NULL THEN 1 END AS n) won`,
    [contract ?? LOTTERY, drawId, status, drawTime, winner, pickBlock, paid],
  );
}

/** What an account has in a draw: tickets, what it paid in, what was refunded. */
export const addEntry = (
  app: TestApp,
  drawId: number,
  account: string,
  [tickets, paidIn, refunded]: number[],
): Promise<unknown> =>
  app.sql('INSERT INTO lottery_tickets VALUES ($1, $2, $3, $4, $5, $6)', [
    LOTTERY,
    drawId,
    account,
    tickets,
    paidIn,
    refunded,
  ]);

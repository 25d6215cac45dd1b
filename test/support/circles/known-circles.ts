import type { CircleState } from '#values/types';
import { CONTRACTS, type TestApp } from '../app';
import { LAST_TIME, knowLastBlock } from '../chain/draws';

/** As if an indexer had read a chain with a contract of circles up to a block. */
export async function knowCircles(app: TestApp): Promise<void> {
  await app.sql(
    `INSERT INTO chain_contracts (type, address, position, from_block, minimum, circles)
     VALUES ('rotating', $1, 0, 1, 7, true)`,
    [CONTRACTS.rotating],
  );
  const token = [`0x${'70'.repeat(20)}`, 'SAVE'];
  await app.sql('INSERT INTO chain_facts VALUES (1, 5, $1, $2, 18)', token);
  await app.sql('INSERT INTO chain_tokens VALUES ($3, $1, $2, 18)', [...token, CONTRACTS.rotating]);
  await knowLastBlock(app);
}

interface CircleFields {
  state?: CircleState;
  joined?: boolean;
  paid?: boolean;
  /** When joining or the round ends, in seconds after the last block. */
  ends?: number;
}

/** A circle of the pool, whose first member is as told. The second has joined, and paid nothing. */
export async function addCircle(
  app: TestApp,
  pool: string,
  account: string,
  { state = 'RUNNING', joined = true, paid = false, ends = 60 }: CircleFields = {},
): Promise<void> {
  await app.sql(
    `INSERT INTO circles (contract, circle_id, pool_id, organiser, contribution, collateral, period, places, join_by,
       state, rounds_ended, round_end, opened_at)
     VALUES ($1, 1, $2, $3, 100, 50, 3600, 2, $4::timestamptz + make_interval(secs => $5), $6, 0,
       CASE $6 WHEN 'RUNNING' THEN $4::timestamptz + make_interval(secs => $5) END, $4)`,
    [CONTRACTS.rotating, pool, account, LAST_TIME, ends, state],
  );
  for (const [place, member, isJoined, amount] of [
    [0, account, joined, paid ? 100 : 0],
    [1, `0x${'0b'.repeat(20)}`, true, 0],
  ]) {
    await app.sql(
      `INSERT INTO circle_members (contract, circle_id, account, place, joined_at, collateral, paid, missed, won,
         paid_out, refunded)
       VALUES ($1, 1, $2, $3, CASE WHEN $4 THEN $6::timestamptz END, CASE WHEN $4 THEN 50 ELSE 0 END, $5, 0, 0, 0, 0)`,
      [CONTRACTS.rotating, member, place, isJoined, amount, LAST_TIME],
    );
    await app.sql(
      `INSERT INTO circle_rounds (contract, circle_id, round, account, paid_count) VALUES ($1, 1, $2, $3, $4)`,
      [CONTRACTS.rotating, place, member, place === 0 && paid ? 1 : 0],
    );
  }
}

export const forgetCircles = (app: TestApp): Promise<unknown> =>
  app.sql(`DELETE FROM circles; DELETE FROM circle_members; DELETE FROM circle_rounds; DELETE FROM chain_facts; DELETE FROM chain_tokens;
    DELETE FROM chain_cursor; DELETE FROM chain_contracts`);

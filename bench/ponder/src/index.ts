import { type Handler, ponder } from 'ponder:registry';
import { positions, totals, transactions } from 'ponder:schema';

/** A payment, whose amount is added to the pool's balance, taken from it, or paid from its yield. */
const move =
  (type: string, sign: bigint): Handler =>
  async ({ event, context: { db } }) => {
    const { poolId, ref, account, amount, seq } = event.args;
    await db.insert(transactions).values({
      id: event.id,
      poolId,
      ref,
      type,
      account,
      amount,
      seq,
      txHash: event.transaction.hash,
      block: event.block.number,
      time: event.block.timestamp,
    });
    const by = sign * amount;
    const claimed = sign === 0n ? amount : 0n;
    await db
      .insert(positions)
      .values({ poolId, account, balance: by, claimed })
      .onConflictDoUpdate((row) => ({ balance: row.balance + by, claimed: row.claimed + claimed }));
    const deposits = sign > 0n ? 1 : 0;
    await db
      .insert(totals)
      .values({ poolId, total: by, deposits, accrued: 0n })
      .onConflictDoUpdate((row) => ({ total: row.total + by, deposits: row.deposits + deposits }));
  };

ponder.on('Pool:Deposited', move('DEPOSIT', 1n));
ponder.on('Pool:Withdrawn', move('WITHDRAWAL', -1n));
ponder.on('Pool:YieldClaimed', move('YIELD_CLAIM', 0n));
ponder.on('Pool:YieldAccrued', async ({ event, context: { db } }) => {
  const { poolId, amount } = event.args;
  await db
    .insert(totals)
    .values({ poolId, total: 0n, deposits: 0, accrued: amount })
    .onConflictDoUpdate((row) => ({ accrued: row.accrued + amount }));
});

import fc from 'fast-check';
import { v7 as uuidv7 } from 'uuid';
import { Replay } from '#indexer/replaying/replay';
import { CircleSketch, COLLATERAL, CONTRIBUTION } from '../support/circles/circle-sketch';
import { OTHER, PaperChain, SAVER, Written, compact } from '../support/chain/paper-chain';
import { SEED } from '../support/random';
import { verify } from '../support/verify/verify-scene';

const THIRD = `0x${'33'.repeat(20)}`;
const MEMBERS = [SAVER, OTHER, THIRD];
const POT = CONTRIBUTION * 3n;

interface Held {
  address: string;
  balance: string;
}
const positions = async (db: Written): Promise<Record<string, bigint>> =>
  Object.fromEntries(
    (await db.sql<Held>('SELECT address, balance::text FROM positions')).map((row) => [
      row.address,
      BigInt(row.balance),
    ]),
  );
const circle = async (db: Written): Promise<unknown> =>
  (await db.sql('SELECT state, rounds_ended, places FROM circles'))[0];
const replayed = async (db: Written): Promise<Record<string, number>> =>
  (await new Replay(db.operatorUrl, () => undefined).run()).corrected;
const verified = async (db: Written): Promise<Record<string, number>> => {
  const report = await verify({ databaseUrl: db.operatorUrl, repair: false, limit: 20 });
  expect(report.notChecked).toEqual([]);
  return report.differences;
};
const NOTHING = { pools: 0, chain_events: 0 };

/** A whole circle of three: in the second round the third member misses. */
function whole(sketch: CircleSketch): ReturnType<CircleSketch['open']>[] {
  const [a, b, c] = sketch.members;
  return [
    sketch.open(),
    sketch.join(a),
    [...sketch.join(b), ...sketch.join(c)],
    [...sketch.contribute(a), ...sketch.contribute(b), ...sketch.contribute(c)],
    sketch.endRound(),
    [...sketch.paidOut(a, POT), ...sketch.contribute(a), ...sketch.contribute(b)],
    sketch.endRound(),
    [...sketch.contribute(a), ...sketch.contribute(c), ...sketch.contribute(b), ...sketch.endRound()],
    [...sketch.paidOut(b, POT), ...sketch.refunded(a, COLLATERAL)],
    [...sketch.paidOut(c, POT), ...sketch.refunded(b, COLLATERAL)],
    sketch.refunded(c, COLLATERAL - CONTRIBUTION),
  ];
}

describe('circles in the ledger', () => {
  let db: Written;
  let chain: PaperChain;
  let pool: string;
  let sketch: CircleSketch;

  beforeEach(async () => {
    pool = uuidv7();
    sketch = new CircleSketch(compact(pool), MEMBERS);
    chain = new PaperChain();
    db = await new Written().start(chain);
  });
  afterEach(() => db.stop());

  it('go from opening to the last refund, to the unit', async () => {
    await db.addPool(pool);
    const steps = whole(sketch);
    const after = async (count: number): Promise<void> => {
      for (const step of steps.splice(0, count)) chain.add(step);
      await db.apply(chain);
    };
    await after(2);
    expect(await circle(db)).toEqual({ state: 'JOINING', rounds_ended: 0, places: 3 });
    expect(await positions(db)).toEqual({ [SAVER]: COLLATERAL });
    await after(2);
    expect(await circle(db)).toMatchObject({ state: 'RUNNING', rounds_ended: 0 });
    expect(await positions(db)).toEqual({ [SAVER]: 250n, [OTHER]: 250n, [THIRD]: 250n });
    await after(1);
    expect(await positions(db)).toEqual({ [SAVER]: 450n, [OTHER]: 150n, [THIRD]: 150n });
    await after(2);
    expect(await circle(db)).toMatchObject({ state: 'RUNNING', rounds_ended: 2 });
    expect(await positions(db)).toEqual({ [SAVER]: 150n, [OTHER]: 450n, [THIRD]: 50n });
    expect(await db.sql('SELECT round, paid_count, pot::text FROM circle_rounds ORDER BY round')).toEqual([
      { round: 0, paid_count: 3, pot: '300' },
      { round: 1, paid_count: 3, pot: '300' },
      { round: 2, paid_count: 0, pot: null },
    ]);
    expect(
      await db.sql(`SELECT collateral::text, missed FROM circle_members WHERE account = '${THIRD}'`),
    ).toEqual([{ collateral: '50', missed: 1 }]);
    await after(4);
    expect(await circle(db)).toMatchObject({ state: 'COMPLETED', rounds_ended: 3 });
    expect(await positions(db)).toEqual({ [SAVER]: 0n, [OTHER]: 0n, [THIRD]: 0n });
    expect(await db.sql('SELECT balance::text, deposit_count, withdrawal_count FROM pools')).toEqual([
      { balance: '0', deposit_count: 11, withdrawal_count: 6 },
    ]);
    expect(await replayed(db)).toMatchObject(NOTHING);
    expect(await verified(db)).toEqual({});
  });

  it('give back what was paid when they are cancelled in the middle', async () => {
    await db.addPool(pool);
    const steps = [...whole(sketch).slice(0, 6), sketch.cancel()];
    for (const step of steps) chain.add(step);
    await db.apply(chain);
    expect(await circle(db)).toMatchObject({ state: 'CANCELLED', rounds_ended: 1 });
    expect(
      await db.sql('SELECT collateral::text, paid::text, won::text FROM circle_members ORDER BY place'),
    ).toEqual([
      { collateral: '150', paid: '100', won: '300' },
      { collateral: '150', paid: '100', won: '0' },
      { collateral: '150', paid: '0', won: '0' },
    ]);
    chain.add([
      ...sketch.refunded(SAVER, 250n),
      ...sketch.refunded(OTHER, 250n),
      ...sketch.refunded(THIRD, 150n),
    ]);
    await db.apply(chain);
    expect(await positions(db)).toEqual({ [SAVER]: 0n, [OTHER]: 0n, [THIRD]: 0n });
  });

  it('are the first that the owner opens, even if others open some for the pool', async () => {
    await db.addPool(pool);
    const strange = new CircleSketch(compact(pool), [OTHER, THIRD], '7', OTHER);
    const second = new CircleSketch(compact(pool), [SAVER, OTHER], '8', SAVER);
    chain.add([...strange.open(), ...strange.join(OTHER), ...strange.join(THIRD)]);
    chain.add([...sketch.open(), ...sketch.join(SAVER)]);
    chain.add([
      ...second.open(),
      ...second.join(SAVER),
      ...strange.contribute(OTHER),
      ...strange.contribute(THIRD),
    ]);
    chain.add([...strange.endRound(), ...strange.paidOut(OTHER, 200n)]);
    await db.apply(chain);
    expect(await db.sql('SELECT circle_id, state FROM circles')).toEqual([
      { circle_id: '1', state: 'JOINING' },
    ]);
    expect(await positions(db)).toEqual({ [SAVER]: COLLATERAL });
    expect(await db.sql('SELECT balance::text FROM pools')).toEqual([{ balance: `${COLLATERAL}` }]);
    expect(await replayed(db)).toMatchObject(NOTHING);
    expect(await verified(db)).toEqual({});
    const before = await db.state();
    await db.rewind(chain.blocks[2]);
    await db.apply(chain);
    expect(await db.state()).toEqual(before);
  });

  it('wait for their pool', async () => {
    for (const step of whole(sketch).slice(0, 5)) chain.add(step);
    await db.apply(chain);
    expect(await circle(db)).toBeUndefined();
    await db.addPool(pool);
    await db.apply(chain);
    chain.add();
    await db.apply(chain);
    expect(await circle(db)).toMatchObject({ state: 'RUNNING', rounds_ended: 1 });
    expect(await positions(db)).toEqual({ [SAVER]: 450n, [OTHER]: 150n, [THIRD]: 150n });
  });

  it('confirm the deposits that were announced', async () => {
    const [first, second] = [uuidv7(), uuidv7()];
    const at = chain.head.time;
    await db.addPool(pool, [
      { id: first, amount: '7', at },
      { id: second, amount: `${CONTRIBUTION}`, at },
    ]);
    const [a, b, c] = MEMBERS;
    chain.add([...sketch.open(), ...sketch.join(a, compact(first)), ...sketch.join(b), ...sketch.join(c)]);
    chain.add(sketch.contribute(a));
    await db.apply(chain);
    expect(
      await db.sql(
        `SELECT id, amount::text, status FROM transactions WHERE requested_amount IS NOT NULL ORDER BY id`,
      ),
    ).toEqual([
      { id: first, amount: `${COLLATERAL}`, status: 'CONFIRMED' },
      { id: second, amount: `${CONTRIBUTION}`, status: 'CONFIRMED' },
    ]);
  });

  it('keep their pool from being cancelled', async () => {
    await db.addPool(pool);
    const cancel = (): Promise<unknown[]> => db.sql('SELECT cancel_pool($1, $2) AS answer', [pool, SAVER]);
    chain.add(sketch.open());
    await db.apply(chain);
    expect(await cancel()).toEqual([{ answer: 'not_empty' }]);
    await db.rewind(chain.blocks[0]);
    expect(await cancel()).not.toEqual([{ answer: 'not_empty' }]);
  });

  it('make no row for who joins without collateral', async () => {
    await db.addPool(pool);
    chain.add(sketch.open());
    chain.add(sketch.join(SAVER).map((event) => ({ ...event, amount: '0' })));
    await db.apply(chain);
    expect(await db.sql('SELECT FROM transactions')).toEqual([]);
    expect(await db.sql('SELECT FROM positions')).toEqual([]);
    expect(await db.sql('SELECT FROM circle_members WHERE joined_at IS NOT NULL')).toHaveLength(1);
    expect(await replayed(db)).toMatchObject(NOTHING);
    expect(await verified(db)).toEqual({});
  });

  it(`are the same however the chain is cut into batches, and after any reorganisation, SEED=${SEED}`, async () => {
    await db.addPool(pool);
    for (const step of whole(sketch)) chain.add(step);
    const states: Record<string, unknown>[] = [await db.state()];
    for (const { number } of chain.blocks.slice(1)) {
      await db.apply(chain, number);
      states.push(await db.state());
    }
    await fc.assert(
      fc.asyncProperty(fc.nat(chain.head.number), fc.integer({ min: 1, max: 4 }), async (to, size) => {
        await db.rewind(chain.blocks[Math.min(to, db.cursor.number)]);
        expect(await db.state()).toEqual(states[db.cursor.number]);
        while (db.cursor.number < chain.head.number)
          await db.apply(chain, Math.min(db.cursor.number + size, chain.head.number));
        expect(await db.state()).toEqual(states.at(-1));
      }),
      { numRuns: 6 },
    );
    expect(await replayed(db)).toMatchObject(NOTHING);
    expect(await verified(db)).toEqual({});
  });

  it('are in doubt if events of another circle apply', async () => {
    await db.addPool(pool);
    const strange = new CircleSketch(compact(pool), [OTHER, THIRD], '7', OTHER);
    chain.add([...strange.open(), ...strange.join(OTHER), ...sketch.open()]);
    await db.apply(chain);
    expect(await verified(db)).toEqual({});
    await db.sql(`UPDATE chain_events SET outcome = 'APPLIED', reason = NULL WHERE circle_id = 7`);
    expect(Object.keys(await verified(db))).toContain('chain_events.circle_id');
    await db.sql(`UPDATE chain_events SET outcome = 'REFUSED', reason = 'x'`);
    expect(Object.keys(await verified(db))).toContain('chain_events.outcome');
  });
});

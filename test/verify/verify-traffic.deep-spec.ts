import fc from 'fast-check';
import { type Client } from 'pg';
import { type SignedIn, TEN, until, useApp } from '../support/app';
import { connectTo } from '../support/database';
import { lookUpOnly } from '../support/lists';
import { SEED } from '../support/random';
import { verifyLedger } from '../support/recount';
import { RACES, perform, step } from '../support/verify/random-ledger';

const WRITES_PER_VERIFICATION = 40;

const app = useApp({ DATABASE_POOL_SIZE: '6' });
let users: SignedIn[];

beforeAll(async () => {
  users = [await app.signIn(), await app.signIn(), await app.signIn()];
  // Of the members below, some are looked up and some indexed.
  await lookUpOnly(app, 1);
  await app.createPool(users[0], { members: [users[1].address] });
  // Many of the writers below deadlock. By default the server looks for deadlocks after a second.
  await app.sql(
    `ALTER DATABASE ${(await app.sql('SELECT current_database() AS name'))[0].name} SET deadlock_timeout = 20`,
  );
});

/** Changing many rows in no order blocks others, so deadlocks may happen. */
async function unlessDeadlocked(client: Client, statement: string): Promise<number> {
  for (;;)
    try {
      return (await client.query(statement)).rowCount ?? 0;
    } catch (error) {
      if ((error as { code?: string }).code !== '40P01') throw error;
    }
}

/** Runs as an account that can switch triggers off, against which the database has no rule. */
async function corrupt(...statements: string[]): Promise<number> {
  const client = await connectTo(app.database.url);
  try {
    await client.query('SET session_replication_role = replica');
    let rows = 0;
    for (const each of statements) rows += await unlessDeadlocked(client, each);
    return rows;
  } finally {
    await client.end();
  }
}

/**
 * Requests, payments, members and accruals, all at once, until the work is done. There is a limit for each
 * verification: what is written without end makes verifying slower, so that still more is written, and a busy machine
 * never ends.
 */
async function duringTraffic(rounds: number, work: () => Promise<void>): Promise<void> {
  let [committed, verifications, isRunning] = [0, 0, true];
  const running = (): boolean => isRunning;
  const allowed = (): Promise<void> =>
    until(() => !running() || committed < WRITES_PER_VERIFICATION * (verifications + 1));
  const writer = async (name: string, seed: number): Promise<void> => {
    const client = await connectTo(app.database.url, { application_name: name });
    const programs = fc.sample(fc.array(step, { minLength: 1, maxLength: 4 }), { numRuns: 1000, seed });
    for (let i = 0; running(); await allowed(), i += 1) {
      const steps = programs[i % programs.length];
      try {
        await client.query('BEGIN');
        for (const each of steps) await perform(client, users, each);
        await client.query('COMMIT');
        committed += 1;
      } catch (error) {
        await client.query('ROLLBACK');
        if (!RACES.includes((error as { code?: string }).code ?? '')) throw error;
      }
    }
    await client.end();
  };
  const requests = async (): Promise<void> => {
    for (; running(); await allowed()) {
      const body = { type: 'rotating', initialDeposit: TEN, members: [users[1].address] };
      const as = users[committed % 3];
      const { status, body: made } = await app.post('/pools', body, as);
      expect([201, 503]).toContain(status);
      committed += Number(status === 201);
      if (status !== 201 || committed % 3 === 0) continue;
      const gone = await app.send({ method: 'DELETE', url: `/pools/${made.data.id}`, as });
      // A writer may have dropped it.
      expect([200, 404, 409, 503]).toContain(gone.status);
      committed += Number(gone.status === 200);
    }
  };
  const writers = Promise.all([writer('indexer', SEED), writer('writer', SEED + 1), requests()]);
  try {
    for (; verifications < rounds || committed < rounds; verifications += 1)
      await Promise.race([work(), writers]);
  } finally {
    isRunning = false;
  }
  await writers;
}

it(`raises no false alarm during traffic, SEED=${SEED}`, async () => {
  await duringTraffic(8, async () => expect((await verifyLedger(app)).listed).toEqual([]));
});

it(`repairs during traffic, to the unit, SEED=${SEED}`, async () => {
  await duringTraffic(8, async () => {
    await corrupt(
      // Less than there is: of more the traffic could withdraw what nobody paid in.
      `UPDATE pools SET balance = greatest(balance - 5, 0), claim_count = 9, apr_bps = 1, last_claim_id = NULL
       WHERE id IN (SELECT id FROM pools ORDER BY id LIMIT 20)`,
      `UPDATE account_days SET deposited = deposited + 3, withdrawals = 1`,
      `UPDATE member_counts SET count = count - 1`,
      `DELETE FROM member_streams WHERE status = 'CONFIRMED'`,
      `UPDATE pool_totals SET pending = pending + 1, pools = pools - 1 `,
    );
    let report = await verifyLedger(app, true);
    // What deadlocks with the traffic five times in a row is left for the next time.
    while (report.notChecked.some((why) => why.endsWith('could not be repaired: deadlock detected')))
      report = await verifyLedger(app, true);
    const { listed, notChecked } = report;
    expect({ notChecked, left: listed.filter(({ repaired }) => !repaired) }).toEqual({
      notChecked: [],
      left: [],
    });
    expect((await verifyLedger(app)).listed).toEqual([]);
  });
});

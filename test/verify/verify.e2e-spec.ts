import fc from 'fast-check';
import { Client } from 'pg';
import { type VerifyReport, exitCode } from '#verify/checks/findings';
import { Progress } from '#verify/progress';
import { Verification } from '#verify/verify';
import { type SignedIn, TEN, until, useApp } from '../support/app';
import { urlAs } from '../support/database';
import { accrue, addTransaction } from '../support/ledger';
import { lookUpOnly } from '../support/lists';
import { perform, step } from '../support/verify/random-ledger';
import { differences } from '../support/recount';

const WRITES_PER_VERIFICATION = 40;

const app = useApp({ DATABASE_POOL_SIZE: '6' });
let users: SignedIn[];

beforeAll(async () => {
  users = [await app.signIn(), await app.signIn(), await app.signIn()];
  // Of the members below, some are looked up and some indexed.
  await lookUpOnly(app, 1);
  // Many of the writers below deadlock. By default the server looks for deadlocks after a second.
  await app.sql(
    `ALTER DATABASE ${(await app.sql('SELECT current_database() AS name'))[0].name} SET deadlock_timeout = 20`,
  );
});

const silent = (): Progress => new Progress({ isTTY: false, write: () => true });

const verified = (repair = false, signal = new AbortController().signal): Promise<VerifyReport> =>
  new Verification(
    { databaseUrl: urlAs(app.database.url, 'operator'), repair, limit: 1000 },
    silent(),
    signal,
  ).run();

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
  const client = new Client({ connectionString: app.database.url });
  await client.connect();
  try {
    await client.query('SET session_replication_role = replica');
    let rows = 0;
    for (const each of statements) rows += await unlessDeadlocked(client, each);
    return rows;
  } finally {
    await client.end();
  }
}

const kinds = (report: VerifyReport): string[] => Object.keys(report.differences).sort();

describe('verification of what is derived', () => {
  let poolId: string;

  beforeAll(async () => {
    const [owner, member, outsider] = users;
    const body = { type: 'cooperative', initialDeposit: TEN, members: [member.address] };
    // The later one is indexed.
    await app.post('/pools', body, outsider);
    const created = await app.post('/pools', body, owner);
    poolId = created.body.data.id;
    await addTransaction(app, { poolId, account: owner.address, amount: '700' });
    await addTransaction(app, { poolId, account: member.address, amount: '80' });
    await addTransaction(app, { poolId, account: outsider.address, amount: '9' });
    await addTransaction(app, { poolId, account: outsider.address, type: 'WITHDRAWAL', amount: '4' });
    await addTransaction(app, { poolId, account: member.address, type: 'YIELD_CLAIM', amount: '3' });
    await accrue(app, poolId, '50', 120);
    await accrue(app, poolId, '60', 130);
  });

  it('finds nothing and writes nothing if nothing is wrong', async () => {
    const before = await app.sql('SELECT * FROM pools');
    const report = await verified();
    expect(report).toMatchObject({ complete: true, differences: {}, listed: [], mended: 0 });
    expect(report.checked).toMatchObject({ pools: before.length, addresses: users.length });
    expect(exitCode(report)).toBe(0);
    expect(await app.sql('SELECT * FROM pools')).toEqual(before);
  });

  const wrong: [name: string, statement: string, found: string[]][] = [
    ...[
      ['balance', 'balance + 1'],
      ['pending_balance', '5'],
      ['claimed_yield', 'claimed_yield + 1'],
      ['deposit_count', 'deposit_count - 1'],
      ['withdrawal_count', '7'],
      ['claim_count', '0'],
      ['last_deposit_id', 'NULL'],
      ['last_withdrawal_id', 'last_deposit_id'],
      ['last_claim_id', 'gen_random_uuid()'],
      ['last_claimed_at', "last_claimed_at - interval '1 hour'"],
      ['total_yield', '0'],
      ['apr_bps', '120'],
      ['member_count', '0'],
    ].map(([column, value]): [string, string, string[]] => [
      `pools.${column}`,
      `UPDATE pools SET ${column} = ${value}`,
      [`pools.${column}`],
    ]),
    ...['deposited', 'pending', 'claimed', 'deposits', 'withdrawals', 'claims'].map(
      (column): [string, string, string[]] => [
        `account_days.${column}`,
        `UPDATE account_days SET ${column} = ${column} + 1 WHERE deposits > 0`,
        [`account_days.${column}`],
      ],
    ),
    [
      'a day that is missing',
      `DELETE FROM account_days WHERE claimed > 0`,
      ['account_days.claimed', 'account_days.deposited'],
    ],
    [
      'a day of nobody',
      `INSERT INTO account_days (address, day, contract, writer, claims) VALUES ('0x${'ee'.repeat(20)}', now(), '', 0, 3)`,
      ['account_days.claims'],
    ],
    ...['first_id', 'last_id'].map((column): [string, string, string[]] => [
      `member_streams.${column}`,
      `UPDATE member_streams SET ${column} = gen_random_uuid() WHERE status = 'CONFIRMED'`,
      [`member_streams.${column}`],
    ]),
    [
      'rows of indexed memberships that are missing',
      'DELETE FROM member_streams',
      ['member_streams.first_id', 'member_streams.last_id'],
    ],
    [
      'rows of a membership that is not indexed',
      `INSERT INTO member_streams SELECT pool_id, '0x${'ee'.repeat(20)}', type, status, first_id, last_id
       FROM member_streams`,
      ['member_streams.first_id', 'member_streams.last_id'],
    ],
    ['member_counts', 'UPDATE member_counts SET count = count + 1', ['member_counts.count']],
    ['counts that are missing', 'DELETE FROM member_counts', ['member_counts.count']],
    [
      'counts of nobody',
      `INSERT INTO member_counts (address, type, writer, count) VALUES ('0x${'ee'.repeat(20)}', 'lottery', 0, 3)`,
      ['member_counts.count'],
    ],
    [
      'an owner whose sums are missing',
      `DELETE FROM owner_totals WHERE pools > 0`,
      ['active', 'apr_bps', 'pools', 'yield'].map((column) => `owner_totals.${column}`),
    ],
    [
      'sums of a type that he has no pools of',
      `INSERT INTO owner_totals (owner_id, type, contract, writer, pools) SELECT id, 'rotating', '', 0, 3 FROM users`,
      ['owner_totals.pools'],
    ],
    ...['pools', 'active', 'yield', 'apr_bps'].map((column): [string, string, string[]] => [
      `owner_totals.${column}`,
      `UPDATE owner_totals SET ${column} = ${column} + 1 WHERE type = 'cooperative'`,
      [`owner_totals.${column}`],
    ]),
    ...['pools', 'deposited', 'pending', 'yield', 'apr_bps'].map((column): [string, string, string[]] => [
      `pool_totals.${column}`,
      `UPDATE pool_totals SET ${column} = ${column} + 1`,
      [`pool_totals.${column}`],
    ]),
    [
      'lost totals',
      `DELETE FROM pool_totals WHERE pools > 0 OR yield > 0`,
      ['apr_bps', 'deposited', 'pending', 'pools', 'yield'].map((column) => `pool_totals.${column}`),
    ],
    [
      'hashes that were told of deposits which are paid, or gone',
      `INSERT INTO submissions (transaction_id, account, hash, at, check_at)
       SELECT id, account, '', now(), now() FROM transactions WHERE status = 'CONFIRMED'
       UNION ALL SELECT gen_random_uuid(), '0x${'ee'.repeat(20)}', '', now(), now()`,
      ['submissions.state'],
    ],
    ['transactions.by_owner', `UPDATE transactions SET by_owner = NOT by_owner`, ['transactions.by_owner']],
    [
      'transactions.owner_id',
      `UPDATE transactions SET owner_id = (SELECT id FROM users u WHERE u.id <> owner_id ORDER BY id DESC LIMIT 1)
       WHERE amount = 80`,
      ['transactions.owner_id'],
    ],
  ];

  it.each(wrong)('finds %s, names it, and repairs it', async (_, statement, expected) => {
    expect(await corrupt(statement)).toBeGreaterThan(0);
    const found = await verified();
    expect(kinds(found)).toEqual(expect.arrayContaining(expected));
    // A transaction's owner decides in whose days it counts.
    if (!statement.startsWith('UPDATE transactions')) expect(kinds(found)).toEqual(expected);
    expect(found.mended).toBe(0);
    expect(exitCode(found)).toBe(1);

    const mended = await verified(true);
    expect(mended.mended).toBeGreaterThan(0);
    expect(mended.listed.filter((each) => !each.mended)).toEqual([]);
    expect(exitCode(mended)).toBe(0);
    expect(await differences(app)).toEqual([]);
    expect((await verified()).differences).toEqual({});
  });

  it('leaves to a person pools that are cancelled and not, or cancelled and paid', async () => {
    const gone = (id: string): string => `INSERT INTO cancelled_pools SELECT ${id}, type, owner_id,
      '0x${'ee'.repeat(20)}', contract_address, false, '{}', NULL, NULL, now(), now() FROM pools WHERE id = '${poolId}'`;
    const paid = poolId.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
    await corrupt(
      ...[gone('id'), gone(`'${paid}'`)],
      `INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id, outcome)
       SELECT 1, 0, '', now(), '', contract_address, 1, 'Deposited', '${paid}', 'UNKNOWN_POOL' FROM pools WHERE id = '${poolId}'`,
    );
    const { listed } = await verified(true);
    const kind = 'cancelled_pools.state';
    const both = [
      { kind, id: poolId, found: 'cancelled', wanted: 'not cancelled', mended: false },
      { kind, id: paid, found: 'cancelled', wanted: 'paid', mended: false },
    ];
    expect(listed).toEqual(expect.arrayContaining(both));
    expect(listed).toHaveLength(2);
    await corrupt('DELETE FROM cancelled_pools', 'DELETE FROM chain_events');
  });

  it('tells which row differs, its value, and the expected one', async () => {
    await corrupt(`UPDATE pools SET balance = 12 WHERE id = '${poolId}'`);
    const { listed } = await verified(true);
    expect(listed).toEqual([
      { kind: 'pools.balance', id: poolId, found: '12', wanted: `${BigInt(TEN) + 785n}`, mended: true },
    ]);
  });

  it('counts all differences and lists the first ones', async () => {
    await corrupt(`UPDATE pools SET total_yield = 1, claimed_yield = 1, apr_bps = 1 WHERE id = '${poolId}'`);
    const few = new Verification(
      { databaseUrl: urlAs(app.database.url, 'operator'), repair: false, limit: 2 },
      silent(),
      new AbortController().signal,
    );
    const report = await few.run();
    expect(report.listed).toHaveLength(2);
    expect(report.differences).toEqual({
      'pools.apr_bps': 1,
      'pools.claimed_yield': 1,
      'pools.total_yield': 1,
    });
    await verified(true);
  });

  it('lets one process at a time repair', async () => {
    const client = new Client({ connectionString: app.database.url });
    await client.connect();
    await client.query('SELECT pg_advisory_lock(4361002)');
    const report = await verified(true);
    await client.end();
    expect(report.notChecked).toEqual(['another process is mending this database']);
    expect(exitCode(report)).toBe(2);
  });

  it('reports that it could not check without a database, or when it is stopped', async () => {
    const nowhere = new Verification(
      { databaseUrl: 'postgres://127.0.0.1:1/none', repair: false, limit: 2 },
      silent(),
      new AbortController().signal,
    );
    expect(exitCode(await nowhere.run())).toBe(2);
    const stopped = await verified(false, AbortSignal.abort());
    expect(stopped).toMatchObject({ complete: false, notChecked: ['stopped before the end'] });
    expect(exitCode(stopped)).toBe(2);
  });

  it('agrees with an independent recount on random ledgers, repaired ones too', async () => {
    const columns = ['balance', 'total_yield', 'claim_count', 'pending_balance'];
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 12 }),
      fc.constantFrom(...columns),
      async (steps, column) => {
        const client = new Client({ connectionString: app.database.url });
        await client.connect();
        for (const each of steps)
          await perform(client, users, each).catch((error: { code?: string }) => {
            if (!['23514', '23503'].includes(error.code ?? '')) throw error;
          });
        await client.end();
        expect((await verified()).differences).toEqual({});
        await corrupt(
          `UPDATE pools SET ${column} = ${column} + 1`,
          `UPDATE account_days SET claims = claims - 2, pending = 8`,
          `UPDATE member_counts SET count = 7`,
          `UPDATE member_streams SET last_id = first_id`,
          `UPDATE owner_totals SET active = active - 1, yield = 7`,
          `UPDATE pool_totals SET deposited = 3`,
        );
        expect(exitCode(await verified())).toBe(1);
        expect(exitCode(await verified(true))).toBe(0);
        expect(await differences(app)).toEqual([]);
      },
    );
    await fc.assert(property, { numRuns: 15 });
  });

  /**
   * Requests, payments, members and accruals, all at once, until stopped. There is a limit for each verification: what
   * is written without end makes verifying slower, so that still more is written, and a busy machine never ends.
   */
  async function traffic(verifications: () => number, running: () => boolean): Promise<number> {
    let committed = 0;
    const allowed = (): Promise<void> =>
      until(() => !running() || committed < WRITES_PER_VERIFICATION * (verifications() + 1));
    const writer = async (name: string): Promise<void> => {
      const client = new Client({ connectionString: app.database.url, application_name: name });
      await client.connect();
      for (; running(); await allowed()) {
        const [steps] = fc.sample(fc.array(step, { minLength: 1, maxLength: 4 }), 1);
        try {
          await client.query('BEGIN');
          for (const each of steps) await perform(client, users, each);
          await client.query('COMMIT');
          committed += 1;
        } catch (error) {
          await client.query('ROLLBACK');
          if (!['23514', '23503', '40P01'].includes((error as { code?: string }).code ?? '')) throw error;
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
    await Promise.all([writer('indexer'), writer('writer'), requests()]);
    return committed;
  }

  it('raises no false alarm during traffic', async () => {
    let running = true;
    let verifications = 0;
    const writers = traffic(
      () => verifications,
      () => running,
    );
    try {
      for (; verifications < 30; verifications += 1) expect((await verified()).listed).toEqual([]);
    } finally {
      running = false;
    }
    expect(await writers).toBeGreaterThan(50);
  });

  it('repairs during traffic, to the unit', async () => {
    let running = true;
    let verifications = 0;
    const writers = traffic(
      () => verifications,
      () => running,
    );
    try {
      for (; verifications < 8; verifications += 1) {
        await corrupt(
          // Less than there is: of more the traffic could withdraw what nobody paid in.
          `UPDATE pools SET balance = greatest(balance - 5, 0), claim_count = 9, apr_bps = 1, last_claim_id = NULL
           WHERE id IN (SELECT id FROM pools ORDER BY id LIMIT 20)`,
          `UPDATE account_days SET deposited = deposited + 3, withdrawals = 1`,
          `UPDATE member_counts SET count = count - 1`,
          `DELETE FROM member_streams WHERE status = 'CONFIRMED'`,
          `UPDATE pool_totals SET pending = pending + 1, pools = pools - 1 `,
        );
        let report = await verified(true);
        // What deadlocks with the traffic five times in a row is left for the next time.
        while (report.notChecked.some((why) => why.endsWith('could not be mended: deadlock detected')))
          report = await verified(true);
        const { listed, notChecked } = report;
        expect({ notChecked, left: listed.filter(({ mended }) => !mended) }).toEqual({
          notChecked: [],
          left: [],
        });
        expect((await verified()).listed).toEqual([]);
      }
    } finally {
      running = false;
    }
    expect(await writers).toBeGreaterThan(20);
    expect(await differences(app)).toEqual([]);
  });
});

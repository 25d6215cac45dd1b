import { createHash } from 'node:crypto';
import { type Client, escapeLiteral } from 'pg';
import type { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { STORED_ADDRESS } from '#values/rules';
import {
  CIRCLE_STATES,
  DRAW_STATUSES,
  POOL_TYPES,
  TRANSACTION_STATUSES,
  TRANSACTION_TYPES,
} from '#values/types';
import { writePoolOptions } from '#platform/database/data-source';
import { LIMITS } from '#platform/postgres/budget';
import { type TypedStatement, valuesOf } from '#platform/postgres/statement';
import { REMOVE_OLD_RECORDS } from '#platform/operating/records.sql';
import { Migrator } from '#platform/migrating/migrator';
import { SCHEMA } from '#platform/migrating/schema';
import { CHAIN_FACTS, CHAIN_STATE } from '#ledger/chain/chain.sql';
import * as outbox from '#ledger/outbox/outbox.sql';
import * as sessions from '#features/access/sessions.sql';
import { FIND_NONCE, ISSUE_NONCES, REMOVE_EXPIRED_NONCES, SIGN_IN } from '#features/access/sign-in.sql';
import { POOL_ANALYTICS, USER_ANALYTICS } from '#features/analytics/analytics.sql';
import * as events from '#extensions/events/events.sql';
import { LANES } from '#extensions/webhooks/slots';
import { READERS_OF_POOLS } from '#extensions/events/readers.sql';
import { CURRENT_DRAW, LIST_TICKETS, LIST_WINNERS } from '#features/lottery/lottery.sql';
import { DRAW_OF_CALL, DRAW_TO_CALL, POOL_TO_PAY } from '#extensions/payments/calls.sql';
import { CIRCLE_TO_CALL, POOL_ROUNDS } from '#extensions/circles/circles.sql';
import { LIST_STRAY_DEPOSITS } from '#extensions/payments/stray-deposits.controller';
import { DATABASE_CLOCK } from '#features/metrics/database-clock';
import * as pools from '#features/pools/pools.sql';
import * as unpaid from '#features/pools/unpaid.sql';
import { DELETE_ACCOUNT, GO_ON_DELETING, STEP } from '#extensions/people/deletions';
import { SECTIONS } from '#extensions/people/export.sql';
import { UNFINISHED } from '#extensions/people/unfinished';
import { LIST_POSITIONS, POOL_POSITION } from '#extensions/positions/positions.sql';
import { START } from '#extensions/start/start.sql';
import * as transactions from '#features/transactions/transactions.sql';
import { ME, PROFILE } from '#features/auth/users.sql';
import * as deliveries from '#extensions/webhooks/deliveries.sql';
import * as fanOut from '#extensions/webhooks/fan-out.sql';
import { DELIVERY_STATUSES, WEBHOOK_STATUSES } from '#extensions/webhooks/webhooks.dto';
import type { ApartState } from '#indexer/contracts/contract-writer';
import type { CursorState } from '#indexer/ledger/chain-cursor';
import type { EventOutcome } from '#indexer/ledger/decide';
import {
  OBJECTS,
  type TestDatabase,
  emptyDatabase,
  freshDatabase,
  migrationSource,
  connectTo,
} from '../support/database';
import { namedStatements } from '../../scripts/generated/queries';
import { type PlanNode, pagesOf, planOf as explain } from '../support/plans';

const newest = { drawnAtMs: null, drawId: null, contract: null };

const OUTCOMES: Record<EventOutcome, true> = {
  WAITING: true,
  APPLIED: true,
  UNKNOWN_POOL: true,
  OVERDRAW: true,
  REFUSED: true,
  FAILED: true,
};
const CURSOR_STATES: Record<CursorState, true> = {
  synced: true,
  syncing: true,
  disconnected: true,
  halted: true,
};
const APART_STATES: Record<ApartState, true> = { catching_up: true, quarantined: true };

describe('schema', () => {
  const opened: { database: TestDatabase; source: DataSource }[] = [];
  async function open(database: TestDatabase): Promise<DataSource> {
    const source = await migrationSource(database.url);
    opened.push({ database, source });
    return source;
  }
  let source: DataSource;
  beforeAll(async () => {
    source = await open(await freshDatabase());
  });
  afterAll(async () => {
    for (const each of opened) {
      await each.source.destroy();
      await each.database.drop();
    }
  });

  const objects = (of: DataSource): Promise<unknown> => of.query(OBJECTS);

  it('matches the entities', async () => {
    const { upQueries } = await source.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  });

  /** An empty database of an account without further rights, as managed servers give it. */
  async function ownedDatabase(): Promise<TestDatabase> {
    const database = await emptyDatabase();
    const admin = await connectTo(database.url);
    const url = new URL(database.url);
    [url.username, url.password] = [`owner_${url.pathname.slice(1)}`, 'test'];
    await admin.query(`CREATE ROLE ${url.username} LOGIN PASSWORD '${url.password}'`);
    await admin.query(`ALTER DATABASE ${url.pathname.slice(1)} OWNER TO ${url.username}`);
    const drop = async (): Promise<void> => {
      await admin.query(`REASSIGN OWNED BY ${url.username} TO CURRENT_USER; DROP OWNED BY ${url.username};
        DROP ROLE ${url.username}`);
      await admin.end();
      await database.drop();
    };
    return { url: url.href, drop };
  }

  it('generates ids in a migration by a function that the database has', () =>
    expect(source.driver).toMatchObject({ uuidGenerator: 'gen_random_uuid()' }));

  it('needs no superuser', async () => {
    const owned = await open(await ownedDatabase());
    const [{ rolsuper }] = await owned.query<{ rolsuper: boolean }[]>(
      'SELECT rolsuper FROM pg_roles WHERE rolname = current_user',
    );
    expect(rolsuper).toBe(false);
    await new Migrator(owned, () => undefined).run();
    expect(await owned.showMigrations()).toBe(false);
  });

  it('has no unlogged sequence: on a standby that is promoted it can be a page of zeros', async () => {
    const unlogged = `SELECT relname FROM pg_class WHERE relkind = 'S' AND relpersistence = 'u'`;
    expect(await source.query(unlogged)).toEqual([]);
  });

  it('can be undone, one migration after the other, and redone with the same result', async () => {
    const empty = await open(await emptyDatabase());
    const migrator = new Migrator(empty, () => undefined);
    expect(await objects(empty)).toEqual([]);
    const count = empty.migrations.length;
    await migrator.run();
    const complete = await objects(empty);
    for (let i = 0; i < count; i++) await migrator.revert();
    expect(await objects(empty)).toEqual([]);
    await migrator.run();
    expect(await objects(empty)).toEqual(complete);
  });

  /** SQL and TypeScript each have these lists, and neither can name the other's. */
  it.each<[string, readonly string[]]>([
    ['pool_type_check', POOL_TYPES],
    ['transaction_type_check', TRANSACTION_TYPES],
    ['transaction_status_check', TRANSACTION_STATUSES],
    ['lottery_draws_status_check', DRAW_STATUSES],
    ['circles_state_check', CIRCLE_STATES],
    ['webhooks_status_check', WEBHOOK_STATUSES],
    ['webhooks_lane_check', LANES],
    ['webhook_deliveries_status_check', DELIVERY_STATUSES],
    ['chain_events_outcome_check', Object.keys(OUTCOMES)],
    ['chain_cursor_state_check', Object.keys(CURSOR_STATES)],
    ['chain_contracts_apart_state_check', Object.keys(APART_STATES)],
  ])('%s allows what the service knows', async (constraint, known) => {
    const [{ definition }] = await source.query<{ definition: string }[]>(
      'SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE conname = $1',
      [constraint],
    );
    expect([...definition.matchAll(/'(\w+)'/g)].map(([, word]) => word)).toEqual([...known]);
  });

  it.each([
    ['cancel_pool', CHAIN_STATE.text.match(/interval '\d+ seconds'/g)!],
    ['webhook_deliveries_changed', [`pending <= ${fanOut.MOST_PENDING / 2}`]],
    ['webhooks_derived', [`challenge_tries < ${deliveries.CHALLENGE_WAITS.length} `]],
  ])('%s has the numbers that the service has', async (name, parts) => {
    const [{ text }] = await source.query<{ text: string }[]>(
      'SELECT prosrc AS text FROM pg_proc WHERE proname = $1',
      [name],
    );
    for (const part of parts) expect(text).toContain(part);
  });

  it('is_address accepts what the regular expression accepts', async () => {
    const good = `0x${'0123456789abcdef'.repeat(2)}01234567`;
    const strange = [
      '',
      '0x',
      good.slice(1),
      good.slice(0, -1),
      `${good}0`,
      ` ${good.slice(1)}`,
      good.toUpperCase(),
      good.replace('f', 'F'),
      good.replace('0x', '1x'),
      good.replace('9', 'g'),
      good.replace('9', ' '),
      good.replace('9', '-'),
      good.replace('9a', 'é'),
      `${good}\n`,
    ];
    const rows = await source.query<{ a: string; says: boolean; should: boolean }[]>(
      'SELECT a, is_address(a) AS says, a ~ $2 AS should FROM unnest($1::text[]) a',
      [[good, ...strange], STORED_ADDRESS],
    );
    expect(rows.map(({ says }) => says)).toEqual([true, ...strange.map(() => false)]);
    for (const { says, should } of rows) expect(says).toBe(should);
  });
});

const ROWS = 50_000;
const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
const hex = (n: string, length: number): string => `'0x' || lpad(to_hex(${n}), ${length}, '0')`;
const id = (kind: string, n: string): string => `md5('${kind}' || ${n})::uuid`;
/** As `id`, where no SQL can stand. */
const md5 = (text: string): string =>
  createHash('md5')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
const OWNER = 60_001;
const MEMBER = 60_002;
const PAYER = 60_003;
/** A member of 50 pools; MEMBER is one of 5,000. */
const MEMBER_OF_50 = 60_004;
/**
 * User n owns pool n, of which user n + 1 is a member. Triggers and foreign keys are off, because plans only need
 * rows and their distribution. The derived tables are filled here too.
 */
const FILL = `
  SET session_replication_role = replica;
  INSERT INTO users SELECT ${id('user', 'n')}, ${hex('n', 40)}, now() FROM generate_series(1, ${ROWS}) n;
  INSERT INTO session_endings SELECT ${id('session', 'n')}, ${id('user', 'n')}, (3 + n / 100)::text::xid8,
    now() + make_interval(secs => n - 5000) FROM generate_series(1, ${ROWS}) n;
  INSERT INTO operator_records (command, person, ended_at, outcome)
    SELECT 'replay', n::text, now(), 'done' FROM generate_series(1, ${ROWS}) n;
  INSERT INTO operator_records (command, person) SELECT 'replay', n::text FROM generate_series(1, 100) n;
  INSERT INTO account_deletions SELECT ${hex('n', 40)}, ${id('user', 'n')}, now() FROM generate_series(1, ${ROWS}) n;
  INSERT INTO nonces SELECT 'nonce' || n, NULL, now() + make_interval(secs => n - 1000)
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO pools (id, type, owner_id, contract_address, member_count, created_at, last_update)
    SELECT ${id('pool', 'n')}, (ARRAY['individual', 'lottery', 'rotating'])[1 + n % 3], ${id('user', 'n')},
      ${hex('n % 3', 40)}, 1, now(), now() FROM generate_series(1, ${ROWS}) n;
  INSERT INTO pool_members SELECT p.id, ${hex('n + role', 40)}, (ARRAY['OWNER', 'MEMBER'])[1 + role], p.type, false
    FROM generate_series(1, ${ROWS}) n JOIN pools p ON p.id = ${id('pool', 'n')}, generate_series(0, 1) role;
  INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, tx_hash, block_number,
    log_index, created_at)
    SELECT ${id('transaction', 'n')}, ${id('pool', 'n')}, ${id('user', 'n')}, true, 'DEPOSIT', 'CONFIRMED',
      ${hex('n', 40)}, 10, ${hex('n', 64)}, n, 0, now() - make_interval(hours => n % 100)
    FROM generate_series(1, ${ROWS}) n;
  -- Beside them one who owns 10,000 more pools, and one who is a member of the first 5,000 of these, and one
  -- of the first 50.
  INSERT INTO users SELECT ${id('user', 'n')}, ${hex('n', 40)}, now() FROM generate_series(${OWNER}, ${MEMBER}) n;
  INSERT INTO pools (id, type, owner_id, contract_address, member_count, created_at, last_update, deposit_count,
    last_deposit_id)
    SELECT ${id('owned', 'n')}, 'lottery', ${id('user', `${OWNER}`)}, ${hex('1', 40)}, 1, now(), now(), 3,
      (SELECT max(${id('owned transaction', 'm')}::text) FROM generate_series(3 * n, 3 * n + 2) m)::uuid
    FROM generate_series(1, 10000) n;
  INSERT INTO pool_members SELECT ${id('owned', 'n')}, ${hex(`${OWNER}`, 40)}, 'OWNER', 'lottery', false
    FROM generate_series(1, 10000) n;
  INSERT INTO users VALUES (${id('user', `${MEMBER_OF_50}`)}, ${hex(`${MEMBER_OF_50}`, 40)}, now());
  INSERT INTO pool_members SELECT ${id('owned', 'n')}, ${hex('who', 40)}, 'MEMBER', 'lottery', n > few_memberships()
    FROM (VALUES (${MEMBER}, 5000), (${MEMBER_OF_50}, 50)) m(who, pools), generate_series(1, pools) n;
  INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, tx_hash, block_number,
    log_index, created_at)
    SELECT ${id('owned transaction', 'n')}, ${id('owned', 'n / 3')}, ${id('user', `${OWNER}`)}, true, 'DEPOSIT',
      'CONFIRMED', ${hex(`${OWNER}`, 40)}, 10, ${hex('n + 1000000', 64)}, n, 0,
      now() - make_interval(hours => n % 100)
    FROM generate_series(3, 30002) n;
  INSERT INTO member_streams SELECT pool_id, m.address, t.type, t.status, min(t.id::text)::uuid, max(t.id::text)::uuid
    FROM pool_members m JOIN transactions t USING (pool_id) WHERE m.indexed GROUP BY 1, 2, 3, 4;
  INSERT INTO member_streams SELECT ${id('pool', 'n')}, ${hex('n', 40)}, 'DEPOSIT', 'CONFIRMED',
    ${id('transaction', 'n')}, ${id('transaction', 'n')} FROM generate_series(1, ${ROWS}) n;
  INSERT INTO member_counts SELECT address, type, 1, count(*) FROM member_streams GROUP BY 1, 2;
  INSERT INTO member_counts SELECT address, 'lottery', 1, count(*) FROM pool_members WHERE indexed GROUP BY 1;
  -- Of the owner 10,000 that never came to the chain, and an outsider who paid 10,000 times into pools of others.
  INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, created_at)
    SELECT ${id('unconfirmed', 'n')}, ${id('owned', 'n')}, ${id('user', `${OWNER}`)}, true, 'DEPOSIT',
      (ARRAY['PENDING', 'EXPIRED'])[1 + n % 2], ${hex(`${OWNER}`, 40)}, 10, now() - make_interval(mins => 3 * n)
    FROM generate_series(1, 10000) n;
  INSERT INTO users VALUES (${id('user', `${PAYER}`)}, ${hex(`${PAYER}`, 40)}, now());
  INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, tx_hash, block_number,
    log_index, created_at)
    SELECT ${id('paid', 'n')}, ${id('pool', 'n')}, ${id('user', 'n')}, false, 'DEPOSIT', 'CONFIRMED',
      ${hex(`${PAYER}`, 40)}, 10, ${hex('n + 2000000', 64)}, n, 0, now() FROM generate_series(1, 10000) n;
  INSERT INTO submissions (transaction_id, account, hash, at, check_at)
    SELECT id, account, ${hex('0', 64)}, now(), now() FROM transactions ORDER BY status DESC LIMIT 60000;
  INSERT INTO cancelled_pools SELECT ${id('cancelled', 'n')}, 'lottery', ${id('user', 'n')}, ${hex('n', 40)},
    ${hex('1', 40)}, false, '{}', NULL, NULL, now(), now() - make_interval(mins => 3 * n)
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO account_days (address, day, contract, writer, deposited, deposits)
    SELECT account, created_at::date, ${hex('1', 40)}, 1, 10, count(*) FROM transactions GROUP BY 1, 2;
  INSERT INTO owner_totals (owner_id, type, contract, writer, pools, active)
    SELECT owner_id, type, contract_address, 1, count(*), count(*) FROM pools GROUP BY 1, 2, 3;
  INSERT INTO yield_accruals SELECT n, 0, ${id('pool', 'n')}, 1, 500, now() FROM generate_series(1, ${ROWS}) n;
  INSERT INTO idempotency_keys SELECT ${id('user', 'n')}, 'key' || n, '', '{}', now() - make_interval(secs => 3 * n)
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO outbox (xid, position, count, items, created_at) OVERRIDING SYSTEM VALUE
    SELECT (3 + n / 100)::text::xid8, n, 1,
      json_build_array(json_build_object('topic', 'deposit.confirmed', 'poolId', ${id('pool', 'n')})), now() - make_interval(secs => 20 * (${ROWS} - n))
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO event_tickets SELECT md5(n::text), '{}', now() + make_interval(secs => n - 1000)
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO outbox_consumers (name, xid, position, item) VALUES ('reader', '203', 20000, 1);
  -- Each user has a webhook; some wait for their receivers, one of them for long.
  INSERT INTO webhooks (id, user_id, address, slot, url, host, secret, status)
    SELECT ${id('webhook', 'n')}, ${id('user', 'n')}, ${hex('n', 40)}, 1, 'https://example.org', 'example.org', '',
      CASE WHEN n = 40 THEN 'DISABLED' WHEN n <= 1000 THEN 'ACTIVE' ELSE (ARRAY['ACTIVE', 'UNVERIFIED', 'DISABLED'])[n % 3 + 1] END FROM generate_series(1, ${ROWS}) n;
  INSERT INTO webhook_events (id, body, created_at) SELECT n, '{}', now() - make_interval(secs => 20 * (${ROWS} - n))
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO webhook_crowds SELECT CASE WHEN n < 10 THEN 'all' ELSE ${id('pool', 'n')}::text END, n, 'draw.opened', '',
    '00000000-0000-0000-0000-000000000000', now() - make_interval(secs => 2 * (${ROWS} - n)) FROM generate_series(1, ${ROWS}) n;
  INSERT INTO outbox_set_aside SELECT 'reader', n, '{}', 'x', n > ${ROWS - 100}, now() - make_interval(secs => 20 * (${ROWS} - n))
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic, status, next_attempt_at, created_at)
    SELECT ${id('delivery', 'n')}, ${id('webhook', 'n % 1000')}, n, 'pool.created',
      CASE WHEN n % 20 = 0 OR n % 1000 = 7 THEN 'PENDING' ELSE 'DELIVERED' END, now() + make_interval(secs => n - 30000),
      now() - make_interval(secs => 20 * (${ROWS} - n))
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, beat_at)
    VALUES (1, '', 0, '', now(), 0, now());
  INSERT INTO chain_contracts VALUES ('lottery', ${hex('0', 40)}, 0, 0);
  INSERT INTO lottery_draws SELECT ${hex('0', 40)}, n, 'COMPLETED', 1, 1, 1, 1, now(), ${hex('n', 40)}, 1, 1,
    now() - make_interval(secs => n) FROM generate_series(1, ${ROWS}) n;
  -- Each account has positions in two pools, and one has one in every pool.
  INSERT INTO positions SELECT ${id('pool', 'n')}, ${hex('n - other', 40)}, 1, 1, 1, 3, 1, 1, 1
    FROM generate_series(1, ${ROWS}) n, generate_series(0, 1) other;
  INSERT INTO positions SELECT ${id('owned', 'n')}, ${hex(`${OWNER}`, 40)}, 1, 1, 1, 3, 1, 1, 1
    FROM generate_series(1, 10000) n;
  INSERT INTO pool_weights SELECT ${id('pool', 'n')}, 1, 1, 10, 1, 1 FROM generate_series(1, ${ROWS}) n;
  INSERT INTO accrual_rates SELECT ${id('pool', 'n')}, number, 1, 1, 1
    FROM generate_series(1, ${ROWS / 5}) n, generate_series(1, 10) number;
  INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id,
    account, amount, outcome)
    SELECT n, 0, '', now(), '', ${hex('0', 40)}, n, 'Deposited', ${id('nowhere', 'n')}, ${hex('n % 1000', 40)}, 1,
      'UNKNOWN_POOL' FROM generate_series(1, ${ROWS}) n;
  INSERT INTO lottery_tickets SELECT ${hex('0', 40)}, n, ${hex('n % 1000', 40)}, 1 FROM generate_series(1, ${ROWS}) n;
  INSERT INTO lottery_tickets SELECT ${hex('0', 40)}, n, ${hex(`${OWNER}`, 40)}, 1 FROM generate_series(1, 10000) n;
  INSERT INTO circles SELECT ${hex('0', 40)}, n, ${id('pool', 'n')}, ${hex('n', 40)}, 1, 1, 3600, 32, now(), 'RUNNING', 1, now(), now()
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO pool_names SELECT ${id('name', 'n')}, ${hex('0', 40)}, ${hex('n', 40)}, ${id('pool', 'n')}, n, 0
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO share_holdings SELECT ${hex('0', 40)}, ${hex('n', 40)}, 1, 1 FROM generate_series(1, ${ROWS}) n;
  INSERT INTO share_totals VALUES (${hex('0', 40)}, ${ROWS}, ${ROWS});
  INSERT INTO share_prices SELECT ${hex('0', 40)}, current_date - n, n, now() - make_interval(days => n), 1
    FROM generate_series(0, 7) n;
  INSERT INTO circle_members SELECT ${hex('0', 40)}, n / 32, ${hex('n', 40)}, n % 32, now(), 1, 1, 0, 0, 0, 0
    FROM generate_series(1, ${ROWS}) n;
  INSERT INTO circle_rounds SELECT ${hex('0', 40)}, n / 32, n % 32, ${hex('n', 40)}, 1, now(), NULL, NULL
    FROM generate_series(1, ${ROWS}) n;`;

/** Tables whose size does not grow. */
const CONSTANT = `pool_totals chain_cursor chain_blocks chain_contracts chain_contracts_apart chain_facts
  chain_tokens chain_proofs share_prices share_totals lottery_totals set_aside_counts outbox_consumers
  outbox_removed migrations required_migrations`.split(/\s+/);
/** Rows of one table that a statement may touch, far below the size of the tables. */
const FEW = 400;
/** Pages that one scan may read. An index of those tables has more, so reading it from end to end is detected. */
const FEW_PAGES = 100;

describe('a hot statement reads few rows, by index', () => {
  let database: TestDatabase;
  let client: Client;
  /** Rows of every table. */
  const sizes = new Map<string, number>();

  const connect = async (application: 'api' | 'indexer'): Promise<Client> => {
    const settings = { DATABASE_URL: database.url, DATABASE_POOL_SIZE: 2, limits: LIMITS };
    const { options } = application === 'api' ? writePoolOptions(settings) : {};
    const connection = await connectTo(database.url, { application_name: application, options });
    return connection;
  };

  beforeAll(async () => {
    database = await freshDatabase();
    const filler = await connect('indexer');
    await filler.query(FILL);
    await filler.query('VACUUM (ANALYZE)');
    const { rows } = await filler.query<{ relname: string; count: number }>(
      'SELECT relname, reltuples::int AS count FROM pg_class WHERE relkind = $1 AND relnamespace = $2::regnamespace',
      ['r', 'public'],
    );
    await filler.end();
    for (const { relname, count } of rows) sizes.set(relname, count);
    client = await connect('api');
  }, 300_000);
  afterAll(async () => {
    await client?.end();
    await database?.drop();
  });

  const caller = address(7);
  const user = "md5('user7')::uuid";
  const pool = "md5('pool7')::uuid";
  const heavyOwner = { user: `md5('user${OWNER}')::uuid`, caller: address(OWNER) };
  const heavyMember = { user: `md5('user${MEMBER}')::uuid`, caller: address(MEMBER) };
  const memberOf50 = { user: `md5('user${MEMBER_OF_50}')::uuid`, caller: address(MEMBER_OF_50) };
  const payer = { user: `md5('user${PAYER}')::uuid`, caller: address(PAYER) };
  const me = { user, caller };
  const cursor = { xid: '203', position: 20_000, item: 1 };
  const expiresAt = new Date().toISOString();
  const held = {
    ...cursor,
    name: 'reader',
    holder: uuidv7(),
    ...{ seconds: 0, failures: 0, wait: 0 },
  };
  const [first, last] = [`${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}`, 'f'.repeat(32)];
  const middle = `8${'0'.repeat(31)}`;
  const walk = { type: null, status: null, above: first, below: last, limit: 20 };
  /** By cursor: from the start and from the middle, of one type, and of each status. */
  const WALKS = [
    walk,
    { ...walk, above: middle },
    { ...walk, below: middle },
    { ...walk, type: 'DEPOSIT' as const },
    { ...walk, below: middle, type: 'YIELD_CLAIM' as const },
    ...(['PENDING', 'CONFIRMED', 'EXPIRED'] as const).map((status) => ({ ...walk, below: middle, status })),
  ];
  const page = { type: null, limit: 20, offset: 0 };
  const deposits = { ...page, type: 'DEPOSIT' as const };
  const newPools: pools.NewPools = {
    pools: [uuidv7()],
    types: ['lottery'],
    owners: [md5('user7')],
    contracts: [address(1)],
    autoCompound: [false],
    members: [`{${address(8)},${address(9)}}`],
    createdAt: [new Date().toISOString()],
    ownerAddresses: [caller],
    deposits: [uuidv7()],
    amounts: ['10'],
  };
  type Case = { name: string; text: string; values: unknown[] };
  const run = <P extends object>(statement: TypedStatement<P, object>, values: P): Case => ({
    name: statement.name,
    text: statement.text,
    values: valuesOf(statement, values),
  });
  const CASES: Case[] = [
    run(DELETE_ACCOUNT, { address: address(3) }),
    run(GO_ON_DELETING, STEP),
    run(UNFINISHED, {}),
    run(DATABASE_CLOCK, {}),
    run(REMOVE_OLD_RECORDS, { after: null, batch: 20 }),
    ...SECTIONS.flatMap(({ statement, by, first: after }) =>
      [me, heavyMember, heavyOwner].map((who) =>
        run(statement, { who: by === 'user' ? who.user : who.caller, after, limit: 20 }),
      ),
    ),
    run(pools.UPDATE_POOL, { pool: md5('pool7'), caller, autoCompound: true }),
    run(ISSUE_NONCES, { nonces: ['fresh'], addresses: [null] }),
    run(FIND_NONCE, { nonce: 'nonce40000', address: caller }),
    run(SIGN_IN, {
      nonces: ['nonce40000', 'nonce40001'],
      addresses: [caller, address(8)],
      newIds: [uuidv7(), uuidv7()],
    }),
    run(ME, { user }),
    run(sessions.SESSION_LIVES, { user, generation: 0, sessionId: "md5('session7')::uuid" }),
    run(sessions.END_SESSION, { sessionId: uuidv7(), user, exp: 4_000_000_000 }),
    run(sessions.END_ALL_SESSIONS, { user }),
    run(sessions.REMOVE_EXPIRED_ENDINGS, { after: null, batch: 20 }),
    run(sessions.LOOK_FOR_ENDINGS, { snapshot: '4000000000:4000000000:' }),
    run(POOL_ANALYTICS, {}),
    run(USER_ANALYTICS, { user }),
    run(USER_ANALYTICS, { user: `md5('user${OWNER}')::uuid` }),
    run(CURRENT_DRAW, {}),
    run(LIST_WINNERS, { limit: 10, offset: 0, ...newest }),
    run(LIST_TICKETS, { caller, limit: 20, offset: 0 }),
    run(POOL_POSITION, { pool, caller }),
    run(LIST_POSITIONS, { caller, limit: 20, offset: 0 }),
    run(CHAIN_STATE, {}),
    run(SCHEMA, {}),
    run(pools.LIST_POOLS, { caller, ...page, after: null }),
    run(pools.LIST_POOLS, { caller, ...page, type: 'lottery', after: null }),
    run(pools.LIST_POOLS, { caller: address(OWNER), ...page, type: 'rotating', after: null }),
    run(pools.POOL_DETAIL, { pool, caller }),
    run(pools.POOL_YIELD, { pool, caller }),
    run(pools.CREATE_POOLS, newPools),
    run(pools.CREATE_POOLS_ONCE, { ...newPools, keys: ['a key'], requestHashes: ['hash'], answers: ['{}'] }),
    run(pools.FIRST_ANSWER, { user, key: 'key7' }),
    run(transactions.LIST_TRANSACTIONS, { ...me, ...page }),
    run(transactions.LIST_TRANSACTIONS, { ...me, ...deposits }),
    run(pools.LEAVE_POOL, { pool, caller: address(8) }),
    run(CHAIN_FACTS, {}),
    run(POOL_TO_PAY, { pool, caller, transaction: "md5('tx7')::uuid" }),
    run(unpaid.SUBMIT_DEPOSIT, { id: "md5('tx7')::uuid", caller, hash: 'hash7' }),
    run(unpaid.TAKE_SUBMISSION_BACK, { id: "md5('tx7')::uuid", caller, hash: null }),
    run(unpaid.CANCEL_POOL, { pool, caller }),
    run(unpaid.CANCEL_UNPAID, { after: null, batch: 1 }),
    run(unpaid.FORGET_CANCELLED, { after: null, batch: 20 }),
    run(DRAW_TO_CALL, {}),
    run(LIST_STRAY_DEPOSITS, { caller, limit: 20, offset: 0 }),
    run(POOL_ROUNDS, { pool, caller }),
    run(CIRCLE_TO_CALL, { pool, caller, transaction: "md5('tx7')::uuid" }),
    run(DRAW_OF_CALL, { drawId: 7, contract: null, caller }),
    run(REMOVE_EXPIRED_NONCES, { after: null, batch: 20 }),
    run(pools.REMOVE_EXPIRED_ANSWERS, { after: null, batch: 20 }),
    run(outbox.READ_OUTBOX, cursor),
    run(outbox.ADD_CONSUMER, { name: 'another', fromNow: true }),
    run(outbox.DUE_CONSUMER, { name: 'reader' }),
    run(outbox.HOLD_CONSUMER, { name: 'reader', holder: uuidv7() }),
    run(outbox.MOVE_CONSUMER, held),
    run(outbox.SET_ASIDE, { ...held, id: 'x', event: '{}', error: 'x' }),
    run(outbox.ASKED_AGAIN, { name: 'reader' }),
    run(outbox.TRIED_AGAIN, { name: 'reader', id: '7', error: null }),
    run(outbox.TRIED_AGAIN, { name: 'reader', id: '7', error: 'x' }),
    run(outbox.REMOVE_OLD_SET_ASIDE, { after: null, batch: 20 }),
    run(outbox.REMOVE_OLD_EVENTS, { after: null, batch: 20 }),
    run(outbox.END_HOLDING_READERS, { after: null, batch: 20 }),
    run(events.ISSUE_TICKET, { digest: 'fresh', session: '{}' }),
    run(events.REDEEM_TICKET, { digest: 'd41d8cd98f00b204e9800998ecf8427e' }),
    run(events.REMOVE_EXPIRED_TICKETS, { after: null, batch: 20 }),
    run(events.OPEN_STREAM, { ...cursor, most: 100 }),
    run(READERS_OF_POOLS, {
      pools: ['00000000-0000-7000-8000-000000000001'],
      addresses: [caller, address(8)],
    }),
    run(transactions.LIST_TRANSACTIONS, { ...heavyOwner, ...page }),
    run(transactions.LIST_TRANSACTIONS, { ...heavyOwner, ...deposits }),
    run(transactions.LIST_POOL_TRANSACTIONS, { pool, caller: heavyOwner.caller, ...page }),
    run(transactions.LIST_POOL_TRANSACTIONS, { pool, caller, ...page }),
    run(LIST_WINNERS, {
      limit: 10,
      offset: 0,
      drawnAtMs: Date.now() - 25_000_000,
      drawId: 7,
      contract: address(0),
    }),
    run(pools.LIST_POOLS, { caller, type: null, limit: 20, offset: 0, after: last }),
    run(pools.LIST_POOLS, { caller: address(OWNER), type: null, limit: 10, offset: 0, after: middle }),
    run(pools.LIST_POOLS, { caller: address(OWNER), type: 'lottery', limit: 10, offset: 0, after: middle }),
    run(pools.LIST_POOLS, { caller: address(OWNER), type: 'rotating', limit: 10, offset: 0, after: last }),
    ...WALKS.flatMap((each) =>
      [me, heavyOwner, payer].flatMap((who) => [
        run(transactions.TRANSACTIONS_AFTER.asc, { ...who, ...each }),
        run(transactions.TRANSACTIONS_AFTER.desc, { ...who, ...each }),
      ]),
    ),
    ...WALKS.flatMap((each) =>
      [caller, address(OWNER)].flatMap((who) => [
        run(transactions.POOL_TRANSACTIONS_AFTER.asc, { pool, caller: who, ...each }),
        run(transactions.POOL_TRANSACTIONS_AFTER.desc, { pool, caller: who, ...each }),
      ]),
    ),
    run(fanOut.FAN_OUT, {
      events: JSON.stringify([
        { id: 'x', topic: 'yield.accrued', body: '{}', isForAll: false, pool: md5('pool7') },
        { id: 'y', topic: 'tickets.issued', body: '{}', isForAll: false, account: caller },
        { id: 'z', topic: 'draw.opened', body: '{}', isForAll: true },
      ]),
    }),
    run(fanOut.NEXT_CROWD, { after: 'a' }),
    run(fanOut.FAN_OUT_TO_CROWD, { subject: md5('pool20'), events: 10 }),
    run(fanOut.REMOVE_OLD_CROWDS, { after: null, batch: 20 }),
    run(deliveries.DUE_WEBHOOKS, { full: ['slow host other.example', 'quick user other'] }),
    run(deliveries.CLAIM_DELIVERIES, {
      webhooks: [md5('webhook7'), md5('webhook20'), md5('webhook30004')],
      lanes: ['quick', 'quick', 'challenge'],
      most: [4, 4, 1],
    }),
    run(deliveries.FINISH_DELIVERIES, {
      webhook: "md5('webhook7')::uuid",
      url: 'https://example.org',
      slow: false,
      retryAfter: null,
      waits: [10, 30],
      outcomes: JSON.stringify([
        { id: md5('delivery7'), attempt: 0, status: 500, error: 'status 500' },
        { id: md5('delivery1007'), attempt: 0, status: 204, error: null },
      ]),
    }),
    run(deliveries.FINISH_CHALLENGE, {
      webhook: "md5('webhook30004')::uuid",
      url: 'https://example.org',
      error: null,
    }),
    run(deliveries.REMOVE_OLD_DELIVERIES, { after: null, batch: 20 }),
    run(deliveries.REMOVE_OLD_WEBHOOK_EVENTS, { after: null, batch: 20 }),
    run(PROFILE, { user, expiresAt, chainId: 1 }),
    run(START, { ...me, expiresAt, chainId: 1 }),
    run(transactions.TRANSACTION_BY_ID, { id: "md5('transaction7')::uuid", caller }),
    run(transactions.TRANSACTION_BY_HASH, { hash: `0x${'7'.padStart(64, '0')}`, caller }),
  ];

  const arrayLiteral = (values: unknown[]): string =>
    `{${values.map((value) => (value === null ? 'NULL' : JSON.stringify(value))).join(',')}}`;
  const literal = (value: unknown): string => {
    if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value);
    if (Array.isArray(value)) return escapeLiteral(arrayLiteral(value));
    return (value as string).startsWith('md5(') ? (value as string) : escapeLiteral(value as string);
  };

  /** Plan of the statement as the service runs it: prepared, with the session settings of the API. */
  async function planOf({ name, text, values }: Case): Promise<PlanNode[]> {
    const list = values.length > 0 ? `(${values.map(literal).join(', ')})` : '';
    await client.query(`PREPARE ${name} AS ${text}`);
    await client.query('BEGIN');
    try {
      return await explain((text) => client.query(text).then(({ rows }) => rows), `EXECUTE ${name}${list}`);
    } finally {
      await client.query('ROLLBACK');
      await client.query(`DEALLOCATE ${name}`);
    }
  }

  const isScan = (node: PlanNode): boolean => node['Node Type'].endsWith('Scan');
  /** A plan proves something only if its tables are large, so FILL must fill new tables too. */
  const isFilled = (table: string): boolean => CONSTANT.includes(table) || sizes.get(table)! >= ROWS;
  const unfilled = (tables: string[]): string[] =>
    [...new Set(tables)]
      .filter((table) => !isFilled(table))
      .map((table) => `insert ${ROWS} rows into ${table} in FILL`);
  /** Transition tables of triggers also have a relation name, but are not tables. */
  const isTable = (name: string | undefined): name is string => name !== undefined && sizes.has(name);

  const touched = (node: PlanNode): number =>
    node['Actual Loops'] *
    (node['Actual Rows'] +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0));

  it('finds its tables filled, and those of constant size small', () => {
    const mentioned = [...sizes.keys()].filter((table) =>
      CASES.some(({ text }) => new RegExp(`\\b${table}\\b`).test(text)),
    );
    expect(mentioned).toEqual(expect.arrayContaining(['users', 'pools', 'transactions']));
    expect(unfilled(mentioned)).toEqual([]);
    expect(CONSTANT.filter((table) => !(sizes.get(table)! <= 1000))).toEqual([]);
  });

  it.each(CASES)('$name $values', async (each) => {
    const plan = await planOf(each);
    const tables = plan.map((node) => node['Relation Name']).filter(isTable);
    expect(unfilled(tables)).toEqual([]);
    const found = plan.filter(
      (node) => isScan(node) && node['Relation Name'] && !CONSTANT.includes(node['Relation Name']),
    );
    expect(found.filter((node) => node['Node Type'].includes('Seq'))).toEqual([]);
    const many = found.filter((node) => touched(node) > FEW || pagesOf(node) > FEW_PAGES);
    expect(many).toEqual([]);
  });

  const rowsOf = (plan: PlanNode[], table: string): number =>
    plan
      .filter((node) => isScan(node) && node['Relation Name'] === table)
      .reduce((sum, node) => sum + touched(node), 0);

  /** Strangers decide how many memberships a person has, so a first page must not cost by their number. */
  it.each(
    [page, deposits, { ...page, type: 'lottery' as const }, walk].flatMap((query) => {
      const lists: [string, (who: typeof me) => Case][] =
        'above' in query
          ? (['desc', 'asc'] as const).map((order) => [
              `transactions_${order}`,
              (who) => run(transactions.TRANSACTIONS_AFTER[order], { ...who, ...query }),
            ])
          : query.type === 'lottery'
            ? [
                [
                  'list_pools',
                  ({ caller: who }) => run(pools.LIST_POOLS, { caller: who, ...query, after: null }),
                ],
              ]
            : [
                [
                  'list_transactions',
                  (who) => run(transactions.LIST_TRANSACTIONS, { ...who, ...(query as typeof deposits) }),
                ],
              ];
      return lists.map(([name, list]) => ({ name, type: query.type, list }));
    }),
  )('a member of 5,000 pools reads as much as one of 50: $name $type', async ({ name, list }) => {
    const read: number[] = [];
    for (const who of [memberOf50, heavyMember]) {
      const plan = await planOf(list(who));
      const tables = new Set(plan.map((node) => node['Relation Name']).filter(isTable));
      // The entries of all streams are read from the oldest on, and no pool beyond what the page shows.
      if (name === 'transactions_asc') tables.delete('member_streams');
      read.push([...tables].reduce((sum, table) => sum + rowsOf(plan, table), 0));
    }
    expect(read[0]).toBeGreaterThan(40);
    expect(read[1]).toBeLessThan(2 * read[0]);
  });

  it('what a start page shows is read as by the parts that show it, and costs no more by how many pools', async () => {
    const limits = { type: null, offset: 0 };
    const read: number[] = [];
    for (const who of [memberOf50, heavyMember, heavyOwner, me]) {
      const { user: of, caller: by } = who;
      const parts = [
        ...[
          run(PROFILE, { user: of, expiresAt, chainId: 1 }),
          run(USER_ANALYTICS, { user: of }),
          run(CURRENT_DRAW, {}),
        ],
        run(pools.LIST_POOLS, { caller: by, ...limits, limit: 50, after: null }),
        run(LIST_POSITIONS, { caller: by, limit: 100, offset: 0 }),
        run(transactions.LIST_TRANSACTIONS, { ...who, ...limits, limit: 8 }),
        run(LIST_TICKETS, { caller: by, limit: 5, offset: 0 }),
        run(LIST_WINNERS, { limit: 3, offset: 0, ...newest }),
        run(events.OPEN_STREAM, { ...cursor, most: 0 }),
      ];
      const rows = (plan: PlanNode[]): number =>
        [...new Set(plan.map((node) => node['Relation Name']).filter(isTable))].reduce(
          (sum, table) => sum + rowsOf(plan, table),
          0,
        );
      let apart = 0;
      for (const part of parts) apart += rows(await planOf(part));
      const together = rows(await planOf(run(START, { ...who, expiresAt, chainId: 1 })));
      expect(together).toBeLessThanOrEqual(1.1 * apart);
      read.push(together);
    }
    expect(read[1]).toBeLessThan(2 * read[0]);
  });

  it.each(WALKS)('a member of 5,000 pools, by cursor: %o', async (query) => {
    for (const statement of Object.values(transactions.TRANSACTIONS_AFTER)) {
      const plan = await planOf(run(statement, { ...heavyMember, ...query }));
      const found = plan.filter(isScan);
      expect(found.filter((node) => node['Node Type'].includes('Seq'))).toEqual([]);
      expect(rowsOf(plan, 'pools')).toBe(32);
      // At most one look into each pool whose transactions lie on both sides of the cursor, past one of another status.
      expect(rowsOf(plan, 'transactions')).toBeLessThan(10_000);
    }
  });

  it('covers every statement of the service', async () => {
    const named = [...(await namedStatements()).values()]
      .flat()
      .filter(({ file }) => !/^src\/(platform\/(postgres|statements|database)|indexer|dev)\//.test(file))
      .map(({ statement }) => statement.name);
    expect(named.length).toBeGreaterThan(10);
    expect(new Set(CASES.map(({ name }) => name))).toEqual(new Set(named));
  });
});

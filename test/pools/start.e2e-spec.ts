import { type Client } from 'pg';
import { Database } from '#platform/database/database';
import { parseCursor } from '#ledger/outbox/ledger-event';
import { type SignedIn, type TestApp, until, useApp } from '../support/app';
import { type Received, EventReader, holdSweeps } from '../support/events/event-source';
import { addTransaction, newHash } from '../support/ledger';

const PARTS = {
  user: '/users/me',
  analytics: '/analytics/user',
  pools: '/pools?limit=50',
  positions: '/users/me/positions?limit=100',
  transactions: '/transactions?limit=8',
  entries: '/lottery/me?limit=5',
  winners: '/lottery/winners?limit=3',
};
const LOTTERY = `0x${'0b'.repeat(20)}`;

interface Start {
  pools: { id: string; recentTransactions: { id: string; status: string }[] }[];
  cursor: string;
}

// The last test opens a stream for each look at the page.
const app = useApp({ EVENT_STREAMS_PER_USER: '1000', EVENT_STREAMS_PER_ADDRESS: '10000' });
let user: SignedIn;
let other: SignedIn;
const readers: EventReader[] = [];

beforeAll(async () => {
  await app.listen();
});
beforeEach(async () => {
  holdSweeps();
  [user, other] = [await app.signIn(), await app.signIn()];
});
afterEach(() => {
  jest.restoreAllMocks();
  for (const reader of readers.splice(0)) reader.close();
});

async function start(): Promise<Start> {
  const { status, body } = await app.get('/users/me/start', user);
  expect(status).toBe(200);
  const { pools, cursor } = body.data as { pools: { data: Start['pools'] }; cursor: string };
  return { pools: pools.data, cursor };
}

async function follow(cursor: string): Promise<EventReader> {
  const headers = { authorization: `Bearer ${user.token}`, 'last-event-id': cursor };
  const reader = await new EventReader().open(app.port!, '/events', headers);
  readers.push(reader);
  expect(reader.status).toBe(200);
  return reader;
}

const create = async (as = user): Promise<string> => ((await app.createPool(as)) as { id: string }).id;
const poolsOf = ({ events }: EventReader): string[] =>
  events.map(({ event, data }: Received) => (event === 'reload' ? 'reload' : (data.poolId as string)));

/** Writes as another process does, in a transaction that stays open while the test likes. */
async function transaction(of: TestApp = app): Promise<Client> {
  const client = await of.connect({ application_name: 'indexer' });
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()');
  return client;
}

const CONFIRM = `
  UPDATE transactions SET status = 'CONFIRMED', tx_hash = $2, block_number = 7, log_index = 0, confirmed_at = now()
  WHERE pool_id = $1 AND status = 'PENDING'`;

describe('what a start page shows', () => {
  /** To the letter: what each endpoint says of its first page. */
  async function agree(as: SignedIn): Promise<void> {
    const { cursor, draw, otherContracts, ...rest } = (await app.get('/users/me/start', as)).body.data;
    // Nobody has read their token.
    const contracts = await app.sql('SELECT address FROM chain_contracts');
    expect(otherContracts).toEqual(contracts.map(({ address }) => address));
    for (const [name, path] of Object.entries(PARTS)) {
      const { data, pagination } = (await app.get(path, as)).body;
      expect([name, rest[name]]).toEqual([name, pagination ? { data, pagination } : data]);
    }
    const { status, body } = await app.get('/lottery/current', as);
    expect(draw).toEqual(status === 404 ? null : body.data);
    expect(Object.keys(rest).sort()).toEqual(Object.keys(PARTS).sort());
    expect(parseCursor(cursor as string)).toBeDefined();
  }

  it('is what the endpoints say: of one who has nothing, and of one with more than a page of each', async () => {
    await agree(user);
    for (let i = 0; i < 55; i++) await create();
    const { id: shared } = (await app.createPool(other, { members: [user.address] })) as { id: string };
    for (let i = 0; i < 9; i++) await addTransaction(app, { poolId: shared, account: user.address });
    await app.sql(`INSERT INTO chain_contracts VALUES ('lottery', $1, 0, 1)`, [LOTTERY]);
    await app.sql(
      `INSERT INTO lottery_draws (contract, draw_id, status, ticket_price, prize_pool, participants, total_tickets,
         draw_time, winner, winner_tickets, prize, drawn_at)
       SELECT $1, n, CASE WHEN n = 9 THEN 'ACTIVE' ELSE 'COMPLETED' END, 5, 7, 1, 1, now(), t.winner, t.tickets, t.tickets,
         t.at
       FROM generate_series(1, 9) n CROSS JOIN LATERAL (
         SELECT $2::text AS winner, 1 AS tickets, now() AS at WHERE n < 9 UNION ALL SELECT NULL, NULL, NULL WHERE n = 9) t`,
      [LOTTERY, user.address],
    );
    await app.sql('INSERT INTO lottery_tickets SELECT $1, n, $2, 1 FROM generate_series(1, 9) n', [
      LOTTERY,
      user.address,
    ]);
    await agree(user);
    const { data } = (await app.get('/users/me/start', user)).body;
    expect([data.pools.data.length, data.pools.pagination.total, data.draw.drawId]).toEqual([50, 56, 9]);
    await agree(other);
  });

  it('is read in one statement, so all of it is of one moment', async () => {
    const read = jest.spyOn(app.nest.get(Database), 'readAll');
    await start();
    const ofCaller = read.mock.calls.filter(([{ parameters }]) => parameters.includes('caller' as never));
    expect(ofCaller.map(([{ name }]) => name)).toEqual(['start']);
  });
});

describe('the events that follow', () => {
  it('repeat what the page shows of rows that streams get later, also after a cursor of version 1', async () => {
    const old = await transaction();
    const early = await create();
    const first = await start();
    expect(first.pools.map(({ id }) => id)).toEqual([early]);
    const waiting = [await follow(first.cursor), await follow(`${first.cursor}~1f.2a`)];
    const later = await create();
    await old.query('COMMIT');
    for (const reader of waiting) {
      await until(() => reader.events.length > 1);
      expect(poolsOf(reader)).toEqual([early, later]);
    }
  });

  it('and the page together are what the lists say in the end, while others write', async () => {
    const pools: string[] = [];
    const looks: { first: Start; reader: EventReader }[] = [];
    let running = true;
    let turn = 0;
    /** Some time, in which others write, and each time another. */
    const hold = async (client: Client): Promise<void> => {
      for (let wait = (++turn * 7) % 40; wait > 0; wait--) await client.query('SELECT');
    };
    const creating = async (): Promise<void> => {
      while (pools.length < 12) pools.push(await create(pools.length % 4 === 3 ? other : user));
    };
    /** As the indexer: several deposits in a transaction. */
    const confirming = async (): Promise<void> => {
      for (let n = 0; n < 12;) {
        const open = await transaction();
        const batch = pools.slice(n, n + 3);
        for (const id of batch) await open.query(CONFIRM, [id, newHash()]);
        await hold(open);
        await open.query('COMMIT');
        n += batch.length;
      }
      await until(() => looks.length > 5);
      running = false;
    };
    const delaying = async (): Promise<void> => {
      while (running) {
        const open = await transaction();
        await hold(open);
        await open.query('COMMIT');
      }
    };
    const looking = async (): Promise<void> => {
      while (running) {
        const first = await start();
        looks.push({ first, reader: await follow(first.cursor) });
      }
    };
    await Promise.all([creating(), confirming(), delaying(), delaying(), looking()]);
    const final = new Map(
      (await start()).pools.map(({ id, recentTransactions: [{ status }] }) => [id, status]),
    );
    expect([final.size, new Set(final.values())]).toEqual([9, new Set(['CONFIRMED'])]);
    const last = await create();
    for (const { first, reader } of looks) {
      const shown = new Map(first.pools.map(({ id, recentTransactions: [{ status }] }) => [id, status]));
      const lacking = [...final.keys()].flatMap((id) => [
        ...(shown.has(id) ? [] : [`pool.created ${id}`]),
        ...(shown.get(id) === 'CONFIRMED' ? [] : [`deposit.confirmed ${id}`]),
      ]);
      await until(() => poolsOf(reader).includes(last));
      const told = reader.events.map(({ event, data }) => `${event} ${data.poolId as string}`);
      // All that the page lacks, and perhaps what it already shows; nothing twice.
      expect(told).toEqual(expect.arrayContaining([...lacking, `pool.created ${last}`]));
      expect(new Set(told).size).toBe(told.length);
    }
  });
});

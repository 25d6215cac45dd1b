import { type Client } from 'pg';
import { Database } from '#platform/database/database';
import { MOST_SEEN, ResumePlace } from '#ledger/outbox/resume-place';
import { type SignedIn, type TestApp, until, useApp } from '../support/app';
import { type Received, EventReader, holdSweeps } from '../support/events/event-source';
import { addTransaction, newHash } from '../support/ledger';
import { readable } from '../support/events/outbox';
import { connectTo } from '../support/database';

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
  const client = await connectTo(of.database.url, { application_name: 'indexer' });
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()');
  return client;
}

async function end(client: Client): Promise<void> {
  await client.query('COMMIT');
  await client.end();
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
    expect(ResumePlace.parse(cursor as string)).toBeDefined();
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
  /** While another transaction writes, streams get nothing newer, and tables show it. */
  async function seenAhead(): Promise<{ first: Start; early: string; old: Client }> {
    const old = await transaction();
    const early = await create();
    const first = await start();
    expect(first.pools.map(({ id }) => id)).toEqual([early]);
    expect(first.cursor).toContain('~');
    return { first, early, old };
  }

  it('leave out what the page shows already although streams do not get it yet', async () => {
    const { first, old } = await seenAhead();
    // One stream waits for the older transaction, one comes after it and has to catch up.
    const waiting = await follow(first.cursor);
    const later = await create();
    await end(old);
    await until(() => waiting.events.length > 0);
    const late = await follow(first.cursor);
    await until(() => late.events.length > 0);
    expect([poolsOf(waiting), poolsOf(late)]).toEqual([[later], [later]]);
    const last = await create();
    await until(() => waiting.events.length > 1 && late.events.length > 1);
    expect([poolsOf(waiting), poolsOf(late)]).toEqual([
      [later, last],
      [later, last],
    ]);
    // Behind them the place is an id like any other.
    await until(() => waiting.events.every(({ id }) => !id.includes('~')));
    expect(waiting.lastEventId).toBe(waiting.events[1].id);
  });

  it('leave it out after a reconnect on the way, too', async () => {
    const first = await transaction();
    await first.query(`INSERT INTO outbox (count, items) VALUES (1, '[{"topic": "draw.opened"}]')`);
    const second = await transaction();
    const shown = await create();
    const { cursor } = await start();
    expect(ResumePlace.parse(cursor)!.seen.length).toBe(1);
    // Streams get the draw, and not yet what the page shows, which lies behind it.
    await end(first);
    const waiting = await follow(cursor);
    await until(() => waiting.events.length === 1);
    expect(poolsOf(waiting)).toEqual([undefined]);
    await until(() => waiting.lastEventId !== waiting.events[0].id);
    const again = await follow(waiting.lastEventId);
    await end(second);
    const last = await create();
    await until(() => poolsOf(again).includes(last) && poolsOf(waiting).includes(last));
    expect([poolsOf(waiting), poolsOf(again)]).toEqual([[undefined, last], [last]]);
    expect(shown).not.toBe(last);
  });

  it('may repeat something only behind very many, and lack nothing', async () => {
    const old = await transaction();
    const id = await create();
    for (let i = 0; i < MOST_SEEN; i++)
      await app.sql(`INSERT INTO outbox (count, items) VALUES (1, '[{"topic": "draw.opened"}]')`);
    const behind = await create();
    const first = await start();
    expect(first.pools.map((pool) => pool.id).sort()).toEqual([id, behind].sort());
    expect(first.cursor.length).toBeLessThan(5000);
    await end(old);
    const reader = await follow(first.cursor);
    await until(() => poolsOf(reader).includes(behind));
    expect(poolsOf(reader)).toEqual([undefined, behind]);
    const query = await new EventReader().open(
      app.port!,
      `/events?lastEventId=${encodeURIComponent(first.cursor)}`,
      { authorization: `Bearer ${user.token}` },
    );
    readers.push(query);
    await until(() => poolsOf(query).includes(behind));
  });

  it('start over at a place that this service did not make, or whose rows a failover lost', async () => {
    const { first, old } = await seenAhead();
    await end(old);
    await readable(app);
    const [at, seen] = first.cursor.split('~');
    const [xid, position] = seen.split('.');
    const wrong = [
      '~',
      '~1',
      `~${xid}.`,
      `~${xid}.${position}.`,
      `~${xid}.x`,
      `~${'1.1.'.repeat(MOST_SEEN)}1.1`,
    ];
    // No such row.
    wrong.push(`~${xid}.${(parseInt(position, 16) + 1000).toString(16)}`, `~ffffffffffff.${position}`);
    for (const suffix of wrong) {
      const reader = await follow(at + suffix);
      await until(() => reader.events.length === 1);
      expect([suffix, poolsOf(reader)]).toEqual([suffix, ['reload']]);
      expect(reader.lastEventId).not.toContain('~');
    }
    const honest = await follow(first.cursor);
    const next = await create();
    await until(() => honest.events.length === 1);
    expect(poolsOf(honest)).toEqual([next]);
  });

  it('and the page together are what the lists say in the end, each once, while others write', async () => {
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
        await end(open);
        n += batch.length;
      }
      // Until pages were read while another transaction wrote.
      await until(() => looks.length > 5 && looks.some(({ first }) => first.cursor.includes('~')));
      running = false;
    };
    const delaying = async (): Promise<void> => {
      while (running) {
        const open = await transaction();
        await hold(open);
        await end(open);
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
      // All that the page lacks, and nothing else.
      const lacking = [...final.keys()].flatMap((id) => [
        ...(shown.has(id) ? [] : [`pool.created ${id}`]),
        ...(shown.get(id) === 'CONFIRMED' ? [] : [`deposit.confirmed ${id}`]),
      ]);
      await until(() => poolsOf(reader).includes(last));
      const told = reader.events.map(({ event, data }) => `${event} ${data.poolId as string}`);
      expect(told.sort()).toEqual([...lacking, `pool.created ${last}`].sort());
    }
  });
});

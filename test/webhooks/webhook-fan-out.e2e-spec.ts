import type { TestingModuleBuilder } from '@nestjs/testing';
import { Database } from '#platform/database/database';
import type { Statement } from '#platform/postgres/statement';
import { CLAIM_DELIVERIES, DUE_WEBHOOKS } from '#extensions/webhooks/deliveries.sql';
import { EVERYONE, FAN_OUT_TO_CROWD, MOST_PENDING } from '#extensions/webhooks/fan-out.sql';
import type { Lane } from '#extensions/webhooks/slots';
import { WebhookFanOut } from '#extensions/webhooks/webhook-fan-out';
import { WebhookSender } from '#extensions/webhooks/webhook-sender';
import { type SignedIn, until, useApp } from '../support/app';
import { readable } from '../support/events/outbox';

/** Nothing is sent here: what waits stays. */
const override = (builder: TestingModuleBuilder): TestingModuleBuilder =>
  builder.overrideProvider(WebhookSender).useValue({});
const app = useApp({}, { override });
/** What one statement may write. */
const BOUND = 2000;
let database: Database;
let fanOut: WebhookFanOut;

beforeAll(async () => {
  database = app.nest.get(Database);
  fanOut = app.nest.get(WebhookFanOut);
  await until(async () => (await app.sql('SELECT FROM outbox_consumers')).length > 0);
});
afterEach(async () => {
  jest.restoreAllMocks();
  for (const table of ['webhook_crowds', 'webhooks', 'webhook_deliveries', 'webhook_events'])
    await app.sql(`DELETE FROM ${table}`);
});

let made = 0;
/** Users with webhooks, the members of a pool if one is given. */
async function crowd(users: number, each: number, pool?: string): Promise<void> {
  const first = (made += users) - users + 1;
  const address = `'0x' || lpad(to_hex(n), 40, '0')`;
  const of = `FROM generate_series($1::int, $2::int) n`;
  await app.sql(
    `WITH made AS (
       INSERT INTO users (id, address, created_at) SELECT gen_random_uuid(), ${address}, now() ${of} RETURNING id, address)
     INSERT INTO webhooks (id, user_id, address, slot, url, host, secret, status)
     SELECT gen_random_uuid(), id, address, slot, 'https://example.org', 'example.org', '', 'ACTIVE'
     FROM made, generate_series(1, $3::int) slot`,
    [first, made, each],
  );
  if (pool)
    await app.sql(
      `INSERT INTO pool_members (pool_id, address, role, type)
       SELECT p.id, ${address}, 'MEMBER', p.type ${of}, pools p WHERE p.id = $3`,
      [first, made, pool],
    );
}
async function webhookOf({ user, address }: SignedIn, status = 'ACTIVE'): Promise<string> {
  const [{ id }] = await app.sql<{ id: string }>(
    `INSERT INTO webhooks (id, user_id, address, slot, url, host, secret, status)
     VALUES (gen_random_uuid(), $1, $2, 1, 'https://example.org', 'example.org', '', $3) RETURNING id`,
    [user.id, address, status],
  );
  return id;
}
/** Waits until its own event has been handled. */
const poolOf = async (owner: SignedIn): Promise<string> => {
  const { id } = (await app.createPool(owner)) as { id: string };
  const behind = `SELECT FROM outbox o, outbox_consumers c
    WHERE c.name = 'webhooks' AND (o.xid, o.position, o.count) > (c.xid, c.position, c.item)`;
  await until(async () => (await app.sql(behind)).length === 0);
  return id;
};
const publish = async (items: object[]): Promise<void> => {
  await app.sql('INSERT INTO outbox (count, items) VALUES ($1, $2)', [items.length, JSON.stringify(items)]);
  await readable(app);
};
const payments = (pool: string, count: number): object[] =>
  Array.from({ length: count }, () => ({ topic: 'deposit.confirmed', poolId: pool }));
/** As the fan-out is given them, by ids. */
const events = (pool: string, from: number, to: number): never =>
  Array.from({ length: to - from + 1 }, (_, n) => ({
    id: `e-${String(from + n).padStart(5, '0')}`,
    topic: 'yield.accrued',
    poolId: pool,
  })) as never;
const count = async (where = 'true'): Promise<number> =>
  (await app.sql<{ n: number }>(`SELECT count(*)::int AS n FROM webhook_deliveries WHERE ${where}`))[0].n;
const noCrowds = (): Promise<void> =>
  until(async () => (await app.sql('SELECT FROM webhook_crowds')).length === 0);
/** Rows by the statement that wrote them. */
const statements = async (): Promise<number[]> =>
  (await app.sql<{ n: number }>('SELECT count(*)::int AS n FROM webhook_deliveries GROUP BY xmin')).map(
    ({ n }) => n,
  );
/** Has `before` run ahead of each statement for a crowd. */
function onCrowds(before: (values: { subject: string; events: number }) => unknown): void {
  const write = database.write.bind(database) as (statement: Statement, values: object) => Promise<unknown>;
  jest.spyOn(database, 'write').mockImplementation((async (statement: Statement, values: never) => {
    if (statement === FAN_OUT_TO_CROWD) await before(values);
    return write(statement, values);
  }) as never);
}

/** How many deliveries each statement of a process adds to what is there, of those that serve crowds. */
function additionsOf(process: Database): number[] {
  const additions: number[] = [];
  const write = process.write.bind(process) as (
    statement: Statement,
    values: object,
  ) => Promise<{ taken: number } | undefined>;
  jest.spyOn(process, 'write').mockImplementation((async (statement: Statement, values: never) => {
    const before = await count();
    const answer = await write(statement, values);
    if (statement === FAN_OUT_TO_CROWD && answer?.taken) additions.push((await count()) - before);
    return answer;
  }) as never);
  return additions;
}

const draw = { topic: 'draw.closed', drawId: 1, contract: '0x', txHash: '0x', blockNumber: 1 };

/** Keeps the crowds from going on until `release`. @returns the subject of each statement for them */
function holdCrowds(): { served: string[]; release: () => void } {
  const served: string[] = [];
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  onCrowds(({ subject }) => {
    served.push(subject);
    return released;
  });
  return { served, release };
}

describe('what one statement writes is bounded', () => {
  it('for an event to 5,000 webhooks: each gets it once, its body is kept once', async () => {
    await crowd(500, 10);
    await publish([draw]);
    await until(async () => (await count()) >= 5000);
    await noCrowds();
    expect(await count()).toBe(5000);
    expect(Math.max(...(await statements()))).toBeLessThanOrEqual(BOUND);
    expect(await app.sql('SELECT FROM webhook_events')).toHaveLength(1);
  });

  it('for a batch of a pool with many webhooks, and a stranger does not wait for it', async () => {
    const [owner, stranger] = [await app.signIn(), await app.signIn()];
    const [pool, other] = [await poolOf(owner), await poolOf(stranger)];
    await crowd(30, 10, pool);
    const webhook = await webhookOf(stranger);
    // Nothing more is done for the crowd until the stranger has his.
    const { release } = holdCrowds();
    await publish(payments(pool, 30));
    await publish(payments(other, 1));
    await until(async () => (await count(`webhook_id = '${webhook}'`)) === 1);
    expect(await count()).toBeLessThanOrEqual(30 * 20 + 1);
    release();
    await noCrowds();
    expect(await count()).toBe(30 * 300 + 1);
    expect(Math.max(...(await statements()))).toBeLessThanOrEqual(BOUND);
    // Each webhook knows what waits for it.
    expect(
      await app.sql(`SELECT FROM webhooks w WHERE pending <>
        (SELECT count(*) FROM webhook_deliveries d WHERE d.webhook_id = w.id) OR due_at IS NULL`),
    ).toEqual([]);
  });

  it('crowds take turns: the pool that comes later is served in the next statement', async () => {
    const [first, second] = [await app.signIn(), await app.signIn()];
    const [pool, other] = [await poolOf(first), await poolOf(second)];
    await crowd(20, 10, pool);
    await crowd(3, 10, other);
    const { served, release } = holdCrowds();
    await publish(payments(pool, 40));
    await until(() => served.length === 1);
    await publish(payments(other, 1));
    await until(
      async () => (await app.sql('SELECT FROM webhook_crowds WHERE subject = $1', [other])).length > 0,
    );
    release();
    await noCrowds();
    expect(served.indexOf(other)).toBe(1);
    expect(await count()).toBe(40 * 200 + 30);
  });
});

describe('a crowd', () => {
  it('goes on where it was when its process ends, and others repeat nothing', async () => {
    await crowd(300, 10);
    let isKilled = false;
    onCrowds(async () => {
      isKilled ||= (await count()) >= BOUND;
      if (isKilled) throw new Error('killed');
    });
    await publish([draw]);
    await until(() => isKilled);
    const before = await count();
    expect(before).toBeLessThan(3000);
    const other = await app.replica({}, { override });
    const additions = additionsOf(other.get(Database));
    await other.init();
    await noCrowds();
    expect(await count()).toBe(3000);
    // The last addition is counted after its commit.
    const added = (): number => additions.reduce((sum, each) => sum + each, 0);
    await until(() => added() >= 3000 - before);
    expect(added()).toBe(3000 - before);
    expect(Math.min(...additions)).toBeGreaterThan(0);
  });

  it('that cannot be served is tried event by event, and stops no other', async () => {
    const owner = await app.signIn();
    const pool = await poolOf(owner);
    await crowd(3, 10, pool);
    const sizes: number[] = [];
    onCrowds(({ subject, events }) => {
      if (subject !== EVERYONE) return;
      sizes.push(events);
      throw new Error('not this one');
    });
    await publish([...Array<object>(4).fill(draw), ...payments(pool, 8)]);
    await until(async () => (await count(`topic = 'deposit.confirmed'`)) === 8 * 30);
    await until(() => sizes.length > 1);
    expect(sizes[1]).toBe(1);
    // The next round starts after the wait for a failure, which is shorter than the wait for crowds of other processes.
    const began = performance.now();
    const { length } = sizes;
    await until(() => sizes.length >= length + 2);
    expect(performance.now() - began).toBeLessThan(8000);
    jest.restoreAllMocks();
    await noCrowds();
    expect(await count()).toBe(12 * 30);
  });

  it('is served event by event if several events at once fail, even while another crowd fails too', async () => {
    const pool = await poolOf(await app.signIn());
    await crowd(3, 10, pool);
    onCrowds(({ events }) => {
      if (events > 1) throw new Error('too many at once');
    });
    await publish([...Array<object>(4).fill(draw), ...payments(pool, 4)]);
    await until(async () => (await count()) === 8 * 30);
    await noCrowds();
  });

  it('passes webhooks that are deleted meanwhile, and those made meanwhile get what comes after them', async () => {
    await crowd(210, 10);
    let calls = 0;
    onCrowds(async () => {
      if (++calls > 1) return;
      await app.sql(`DELETE FROM webhooks WHERE slot > 5`);
      await app.sql(
        `INSERT INTO webhooks (id, user_id, address, slot, url, host, secret, status, first_event)
         SELECT gen_random_uuid(), user_id, address, 6, url, host, '', 'ACTIVE',
           lpad(to_hex(pg_snapshot_xmin(pg_current_snapshot())::text::bigint), 12, '0') FROM webhooks WHERE slot = 1`,
      );
    });
    await publish([draw]);
    await until(() => calls > 0);
    await noCrowds();
    expect(await count(`webhook_id IN (SELECT id FROM webhooks WHERE slot <= 5)`)).toBe(1050);
    expect(await count(`webhook_id IN (SELECT id FROM webhooks WHERE slot = 6)`)).toBe(0);
  });

  it('reaches only those that want the topic and may be sent to', async () => {
    await crowd(30, 10);
    await app.sql(
      `UPDATE webhooks SET status = (ARRAY['UNVERIFIED', 'DISABLED', 'PAUSED'])[slot] WHERE slot <= 3`,
    );
    await app.sql(`UPDATE webhooks SET topics = ARRAY['draw.opened'] WHERE slot = 4`);
    await publish([draw]);
    // Beside the events that tell of the changes of states.
    await until(async () => (await count(`topic = 'draw.closed'`)) > 0);
    await noCrowds();
    expect(await count(`topic = 'draw.closed'`)).toBe(30 * 7);
    expect(
      await count(
        `topic = 'draw.closed' AND webhook_id IN (SELECT id FROM webhooks WHERE slot IN (1, 2, 4))`,
      ),
    ).toBe(0);
    // Whatever topics they want.
    await publish([{ topic: 'reload', publishedFrom: 7 }]);
    await until(async () => (await count(`topic = 'reload'`)) > 0);
    await noCrowds();
    expect(await count(`topic = 'reload'`)).toBe(30 * 8);
  });
});

it('due webhooks are the first of each user at each host with free slots, without disabled ones', async () => {
  await crowd(4, 10);
  await app.sql(`UPDATE webhooks SET host = 'other.example' WHERE slot > 7`);
  await app.sql(`UPDATE webhooks SET status = 'DISABLED' WHERE slot = 7`);
  await app.sql(`INSERT INTO webhook_deliveries (webhook_id, event_id, topic, next_attempt_at)
    SELECT id, 'x', 'test', now() - make_interval(secs => slot) FROM webhooks`);
  const read = async (full: string[]): Promise<unknown[]> => {
    const due = await database.readAll(DUE_WEBHOOKS, { full });
    return app.sql(
      `SELECT host, slot, count(*)::int AS n FROM webhooks WHERE id = ANY($1) GROUP BY 1, 2 ORDER BY 2`,
      [due.map(({ id }) => id)],
    );
  };
  const [first, other] = [
    { host: 'example.org', slot: 6, n: 4 },
    { host: 'other.example', slot: 10, n: 4 },
  ];
  expect(await read([])).toEqual([first, other]);
  expect(await read(['quick host other.example'])).toEqual([first]);
  const [{ id }] = await app.sql<{ id: string }>('SELECT user_id AS id FROM webhooks LIMIT 1');
  expect(await read([`quick user ${id}`])).toEqual([
    { ...first, n: 3 },
    { ...other, n: 3 },
  ]);
});

it('a webhook whose lane has changed since it was due takes no slot of the other lane', async () => {
  const [changed, failed] = [
    await webhookOf(await app.signIn(), 'UNVERIFIED'),
    await webhookOf(await app.signIn()),
  ];
  await app.sql('UPDATE webhooks SET failures = 1 WHERE id = $1', [failed]);
  await app.sql(`INSERT INTO webhook_deliveries (webhook_id, event_id, topic) VALUES ($1, 'x', 'test')`, [
    failed,
  ]);
  const claim = async (...lanes: Lane[]): Promise<unknown[]> =>
    (await database.writeAll(CLAIM_DELIVERIES, { webhooks: [changed, failed], lanes, most: [1, 1] }))
      .map(({ webhook, body }) => [webhook, body === null])
      .sort();
  expect(await claim('quick', 'quick')).toEqual([]);
  expect(await claim('challenge', 'slow')).toEqual(
    [
      [changed, true],
      [failed, false],
    ].sort(),
  );
});

// The first event that was left out of one webhook is stored when others have got it.
it('an event is sent as it was stored; a notice is its delivery, whatever is stored under its id', async () => {
  const webhook = await webhookOf(await app.signIn());
  await app.sql(`INSERT INTO webhook_events (id, body) VALUES ('1', '{"id": 1}'), ('2', '{"id": 2}')`);
  await app.sql(
    `INSERT INTO webhook_deliveries (webhook_id, event_id, topic, created_at, next_attempt_at)
     SELECT $1, id, topic, '1970-01-01T00:16:40.12Z', '1970-01-01T00:00:00Z'::timestamptz + id * interval '1 second'
     FROM unnest(ARRAY['draw.closed', 'reload', 'test']) WITH ORDINALITY AS d (topic, id)`,
    [webhook],
  );
  const asked = { webhooks: [webhook], lanes: ['quick' as const], most: [3] };
  const claimed = await database.writeAll(CLAIM_DELIVERIES, asked);
  const occurredAt = '1970-01-01T00:16:40.120Z';
  expect(claimed.map(({ body }) => body).sort()).toEqual([
    '{"id": 1}',
    JSON.stringify({ id: '2', topic: 'reload', occurredAt }),
    JSON.stringify({ id: '3', topic: 'test', occurredAt }),
  ]);
});

it('an event that cannot be stored is set aside, and those before and after it come', async () => {
  const owner = await app.signIn();
  const pool = await poolOf(owner);
  const webhook = await webhookOf(owner);
  const items = payments(pool, 30);
  items[17] = { topic: 'deposit.confirmed', poolId: 'no uuid' };
  await publish(items);
  await until(async () => {
    await app.sql('UPDATE outbox_consumers SET retry_at = now() WHERE retry_at > now()');
    return (await count(`webhook_id = '${webhook}'`)) === 29;
  });
  const [{ error }] = await app.sql<{ error: string }>('SELECT error FROM outbox_set_aside');
  expect(error).toContain('uuid');
});

describe('a webhook with much that waits', () => {
  let owner: SignedIn;
  let pool: string;
  let webhook: string;
  beforeEach(async () => {
    owner = await app.signIn();
    pool = await poolOf(owner);
    webhook = await webhookOf(owner);
  });
  const fill = async (from: number, to: number): Promise<void> => {
    for (let n = from; n <= to; n += 100) await fanOut.onEvents(events(pool, n, Math.min(to, n + 99)));
  };
  const state = async (): Promise<unknown> => {
    const [row] = await app.sql<{ pending: number; counted: number }>(
      `SELECT pending, is_full, left_out,
         (SELECT count(*)::int FROM webhook_deliveries WHERE webhook_id = w.id AND status = 'PENDING') AS counted
       FROM webhooks w WHERE id = $1`,
      [webhook],
    );
    const { counted, ...rest } = row;
    expect(counted).toBe(rest.pending);
    return rest;
  };
  const reloads = (): Promise<unknown[]> =>
    app.sql(`SELECT event_id, status FROM webhook_deliveries WHERE topic = 'reload' ORDER BY event_id`);
  const deliver = (most: number): Promise<unknown> =>
    app.sql(
      `UPDATE webhook_deliveries SET status = 'DELIVERED' WHERE id IN (
         SELECT id FROM webhook_deliveries WHERE status = 'PENDING' ORDER BY next_attempt_at, event_id LIMIT $1)`,
      [most],
    );

  it('gets no more than a thousand, then one notice behind them, then events again', async () => {
    await fill(1, 1250);
    expect(await state()).toEqual({ pending: MOST_PENDING, is_full: true, left_out: 'e-01001' });
    await deliver(499);
    await fill(1251, 1300);
    expect(await state()).toEqual({ pending: 501, is_full: true, left_out: 'e-01001' });
    expect(await reloads()).toEqual([]);
    await deliver(1);
    // The notice waits with the other half, and comes after it.
    expect(await state()).toEqual({ pending: 501, is_full: false, left_out: null });
    expect(await reloads()).toEqual([{ event_id: 'e-01001', status: 'PENDING' }]);
    expect(
      await app.sql(
        `SELECT topic FROM webhook_deliveries WHERE status = 'PENDING' ORDER BY next_attempt_at DESC LIMIT 1`,
      ),
    ).toEqual([{ topic: 'reload' }]);
    await fill(1301, 1400);
    expect(await state()).toEqual({ pending: 601, is_full: false, left_out: null });
    expect(await count(`event_id BETWEEN 'e-01001' AND 'e-01300' AND topic <> 'reload'`)).toBe(0);
    await deliver(601);
    expect(await reloads()).toEqual([{ event_id: 'e-01001', status: 'DELIVERED' }]);
    // Another overflow has one of its own.
    await fill(1401, 2600);
    await deliver(1000);
    expect(await reloads()).toMatchObject([{ event_id: 'e-01001' }, { event_id: 'e-02401' }]);
  });

  it('knows what waits, whatever becomes of it, and events that come twice take no room', async () => {
    await fill(1, 900);
    await fill(801, 900);
    expect(await state()).toEqual({ pending: 900, is_full: false, left_out: null });
    await app.sql(`DELETE FROM webhook_deliveries WHERE event_id <= 'e-00200'`);
    await app.sql(`UPDATE webhook_deliveries SET status = 'FAILED' WHERE event_id <= 'e-00400'`);
    await app.sql(`UPDATE webhook_deliveries SET status = 'PENDING' WHERE event_id <= 'e-00210'`);
    expect(await state()).toEqual({ pending: 510, is_full: false, left_out: null });
    await fill(901, 1500);
    expect(await state()).toEqual({ pending: MOST_PENDING, is_full: true, left_out: 'e-01391' });
    // What grows too old makes room as what was delivered does.
    await app.sql(
      `UPDATE webhook_deliveries SET created_at = now() - interval '8 days' WHERE event_id < 'e-01300'`,
    );
    await app.sweep('webhook_deliveries', 92);
    expect(await state()).toEqual({ pending: 92, is_full: false, left_out: null });
    expect(await reloads()).toHaveLength(1);
  });

  it('gets no more from several processes together, and one notice', async () => {
    const other = (await app.replica({}, { override })).get(WebhookFanOut);
    await fill(1, 900);
    await Promise.all([
      fanOut.onEvents(events(pool, 901, 1000)),
      other.onEvents(events(pool, 1001, 1100)),
      fanOut.onEvents(events(pool, 1101, 1200)),
    ]);
    await other.onEvents(events(pool, 901, 1000));
    expect(await state()).toMatchObject({ pending: MOST_PENDING, is_full: true });
    await deliver(500);
    await deliver(500);
    expect(await reloads()).toHaveLength(1);
  });

  it('starts empty when recreated, and gets nothing of before', async () => {
    await fill(1, 1100);
    await app.sql('DELETE FROM webhooks WHERE id = $1', [webhook]);
    webhook = await webhookOf(owner);
    await app.sql(`UPDATE webhooks SET first_event = 'e-01101'`);
    await fill(1001, 1150);
    expect(await state()).toEqual({ pending: 50, is_full: false, left_out: null });
    // What waited for the former one is removed by batches, and counts for none.
    await app.sql(`DELETE FROM webhook_deliveries WHERE webhook_id <> $1`, [webhook]);
    expect(await state()).toEqual({ pending: 50, is_full: false, left_out: null });
  });
});

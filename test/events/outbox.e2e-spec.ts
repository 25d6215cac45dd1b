import { Injectable, Module, type Provider, Scope } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import pino from 'pino';
import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { Database } from '#platform/database/database';
import { ExpiredRows } from '#platform/database/expired-rows';
import { BEGINNING, type LedgerEvent, cursorText, parseCursor } from '#ledger/outbox/ledger-event';
import { OnLedgerEvent, findHandlers } from '#ledger/outbox/on-ledger-event';
import { READ_OUTBOX } from '#ledger/outbox/outbox.sql';
import { CONTRACTS, type SignedIn, TEN, type TestApp, until, useApp } from '../support/app';
import { accrue, addTransaction } from '../support/ledger';
import { hold, readable } from '../support/events/outbox';
import { LOTTERY, OTHER, PaperChain, SAVER, Written, compact } from '../support/chain/paper-chain';

/** Events as a reader gets them who begins at the beginning. */
async function readEvents(app: TestApp): Promise<LedgerEvent[]> {
  await readable(app);
  const rows = await app.nest.get(Database).readAll(READ_OUTBOX, BEGINNING);
  return rows.flatMap(({ items }) => items) as LedgerEvent[];
}
describe('what is published', () => {
  const POOL = 'aaaaaaaa-0000-7000-8000-000000000001';
  const DEPOSIT = 'bbbbbbbb-0000-7000-8000-000000000001';
  const LATE = 'bbbbbbbb-0000-7000-8000-000000000002';
  const chain = new PaperChain();
  let written: Written;
  beforeAll(async () => {
    written = await new Written().start(chain);
    const { time } = chain.blocks[0];
    await written.addPool(POOL, [
      { id: DEPOSIT, amount: '100', at: time },
      { id: LATE, amount: '999', at: time },
    ]);
  });
  afterAll(() => written.stop());
  beforeEach(() => written.sql('DELETE FROM outbox'));

  const published = async (): Promise<unknown[]> => {
    const rows = await written.sql<{ items: unknown[] }>('SELECT items FROM outbox ORDER BY xid, position');
    return rows.flatMap(({ items }) => items);
  };
  const inPool = { poolId: compact(POOL), account: SAVER };
  const iso = (): string => new Date(chain.head.time * 1000).toISOString();
  const now: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

  it('tells of payments, withdrawals, claims and yield, in the order of the chain', async () => {
    chain.add([
      { kind: 'Deposited', ...inPool, amount: '100', ref: compact(DEPOSIT) },
      { kind: 'Deposited', ...inPool, account: OTHER, amount: '7' },
      { kind: 'Withdrawn', ...inPool, amount: '30' },
      { kind: 'YieldAccrued', poolId: compact(POOL), amount: '5', aprBps: 400 },
      { kind: 'YieldClaimed', ...inPool, amount: '2' },
    ]);
    await written.apply(chain);
    const at = (logIndex: number): object => ({
      ...{ poolId: POOL, blockNumber: 1, logIndex, final: false, occurredAt: iso() },
    });
    const moved = (
      n: number,
      [topic, transactionType]: string[],
      account: string,
      amount: string,
      transactionId: unknown = expect.any(String),
    ): object => ({
      ...{ topic, ...at(n), transactionId, transactionType, account, amount },
      txHash: chain.head.events[n].txHash,
    });
    const deposit = ['deposit.confirmed', 'DEPOSIT'];
    expect(await published()).toEqual([
      moved(0, deposit, SAVER, '100', DEPOSIT),
      moved(1, deposit, OTHER, '7'),
      moved(2, ['withdrawal.confirmed', 'WITHDRAWAL'], SAVER, '30'),
      { topic: 'yield.accrued', ...at(3), amount: '5' },
      moved(4, ['yield.claimed', 'YIELD_CLAIM'], SAVER, '2'),
    ]);
  });

  it('tells of nothing when the same batch does nothing, and when gas is filled in', async () => {
    await written.apply(chain);
    await written.sql(`UPDATE transactions SET gas_used = 5, gas_price = 6 WHERE status = 'CONFIRMED'`);
    expect(await published()).toEqual([]);
  });

  it('tells of draws and tickets', async () => {
    const draw = { contract: LOTTERY, drawId: '3' };
    const opened = chain.add([
      { kind: 'DrawOpened', ...draw, amount: '5', drawTime: chain.head.time + 60 },
      { kind: 'PrizeFunded', ...draw, account: OTHER, amount: '900' },
      { kind: 'TicketsIssued', ...draw, account: SAVER, amount: '4' },
    ]);
    await written.apply(chain);
    const from = (events: typeof opened.events, n: number): object => ({
      occurredAt: iso(),
      drawId: 3,
      contract: LOTTERY,
      txHash: events[n].txHash,
      blockNumber: chain.head.number,
      logIndex: n,
      final: false,
    });
    expect(await published()).toEqual([
      { topic: 'draw.opened', ...from(opened.events, 0) },
      { topic: 'tickets.issued', ...from(opened.events, 2), account: SAVER, tickets: '4' },
    ]);
    await written.sql('DELETE FROM outbox');
    const closed = chain.add([
      { kind: 'DrawClosed', ...draw },
      { kind: 'DrawCompleted', ...draw, account: SAVER, amount: '800' },
      { kind: 'DrawCancelled', ...draw, drawId: '4' },
      { kind: 'PrizePaid', ...draw, account: SAVER, amount: '800' },
      { kind: 'Refunded', ...draw, drawId: '4', account: OTHER, amount: '7' },
    ]);
    await written.apply(chain);
    expect(await published()).toEqual([
      { topic: 'draw.closed', ...from(closed.events, 0) },
      { topic: 'draw.completed', ...from(closed.events, 1), winner: SAVER, prize: '800' },
      { topic: 'draw.cancelled', ...from(closed.events, 2), drawId: 4 },
      { topic: 'prize.paid', ...from(closed.events, 3), account: SAVER, amount: '800' },
      { topic: 'draw.refunded', ...from(closed.events, 4), drawId: 4, account: OTHER, amount: '7' },
    ]);
  });

  it('tells what expired, and that it is paid in the end', async () => {
    chain.add([], 7200);
    await written.apply(chain);
    const transaction = {
      poolId: POOL,
      transactionId: LATE,
      transactionType: 'DEPOSIT',
      account: SAVER,
      amount: '999',
    };
    expect(await published()).toEqual([{ topic: 'deposit.expired', occurredAt: now, ...transaction }]);
    await written.sql('DELETE FROM outbox');
    chain.add([{ kind: 'Deposited', ...inPool, amount: '998', ref: compact(LATE) }]);
    await written.apply(chain);
    const { txHash } = chain.head.events[0];
    expect(await published()).toEqual([
      {
        ...transaction,
        topic: 'deposit.confirmed',
        occurredAt: iso(),
        amount: '998',
        txHash,
        blockNumber: chain.head.number,
        logIndex: 0,
        final: false,
      },
    ]);
  });

  it('tells what a reorganisation takes back, as it was, and then what comes again', async () => {
    await written.rewind(chain.blocks[0]);
    const all = (await published()) as Extract<LedgerEvent, { reverted: unknown }>[];
    const isOnItsWay = ({ topic }: LedgerEvent): boolean => topic === 'deposit.submitted';
    const reverted = all.filter((event) => !isOnItsWay(event));
    // Announced deposits whose payments go back to where they are not mined.
    expect(all.filter(isOnItsWay)).toHaveLength(2);
    expect(all.findIndex(isOnItsWay)).toBeGreaterThan(
      all.findIndex((event) => event.topic === 'transaction.reverted'),
    );
    expect(reverted.every(({ topic }) => topic === 'transaction.reverted')).toBe(true);
    expect(reverted).toContainEqual({
      topic: 'transaction.reverted',
      reverted: 'deposit.confirmed',
      occurredAt: now,
      poolId: POOL,
      transactionId: LATE,
      transactionType: 'DEPOSIT',
      txHash: chain.head.events[0].txHash,
      blockNumber: chain.head.number,
      logIndex: 0,
      account: SAVER,
      amount: '998',
    });
    await written.sql('DELETE FROM outbox');
    await written.apply(chain);
    const again = (await published()) as LedgerEvent[];
    expect(again.map(({ topic }) => topic)).toEqual(reverted.map((event) => event.reverted).reverse());
  });

  /** A rewind takes back everything in one statement, which may be more than an array can hold. */
  it('is staged by 64 blocks or by the thousand', async () => {
    const block = '900 + n / 1000 * 64';
    const row = `SELECT gen_random_uuid(), id, 'DEPOSIT', 'CONFIRMED', '${SAVER}', 1, '0x', ${block}, n, now(), owner_id, true
      FROM pools CROSS JOIN generate_series(1, 1001) n WHERE id = '${POOL}'`;
    const event = `SELECT ${block}, n, '0x', now(), '0x', '${LOTTERY}', 1000 + n, 'DrawClosed', 7, 'APPLIED' FROM generate_series(1, 1001) n`;
    const statements = [
      `INSERT INTO transactions (id, pool_id, type, status, account, amount, tx_hash, block_number, log_index, created_at,
         owner_id, by_owner) ${row}`,
      `UPDATE transactions SET status = 'PENDING', tx_hash = NULL, block_number = NULL, log_index = NULL
       WHERE block_number >= 900 AND log_index > 0`,
      `INSERT INTO yield_accruals (pool_id, block_number, log_index, amount, apr_bps, accrued_at)
       SELECT '${POOL}', ${block}, n, 1, 1, now() FROM generate_series(1, 1001) n`,
      `INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, draw_id, outcome) ${event}`,
      `UPDATE chain_events SET outcome = 'WAITING' WHERE block_number >= 900`,
    ];
    await written.sql('BEGIN');
    const sizes: unknown[] = [];
    for (const statement of statements) {
      await written.sql('DELETE FROM outbox_staged');
      await written.sql(statement);
      sizes.push(await written.column('SELECT cardinality(items) FROM outbox_staged ORDER BY 1'));
    }
    await written.sql('ROLLBACK');
    // Deposits that are taken back are submitted ones again.
    expect(sizes).toEqual(statements.map((_, i) => (i === 1 ? [1, 1, 1000, 1000] : [2, 999])));
  });
});

describe('cursors', () => {
  it('are text, and order as events do', () => {
    const cursors = [
      { xid: '9', position: 5, item: 3 },
      { xid: '10', position: 1, item: 1 },
      { xid: '10', position: 1, item: 10 },
      { xid: '10', position: 20, item: 1 },
      { xid: '18446744073709', position: 2 ** 47, item: 1000 },
    ];
    const texts = cursors.map(cursorText);
    expect([...texts].sort()).toEqual(texts);
    expect(texts.map(parseCursor)).toEqual(cursors);
  });

  it.each([
    '',
    '1',
    '5-5-5',
    `${'z'.repeat(12)}-${'0'.repeat(12)}-0000`,
    `${'0'.repeat(12)}-${'0'.repeat(12)}-00000`,
  ])('%j is none', (text) => expect(parseCursor(text)).toBeUndefined());
});

describe('the API', () => {
  const app = useApp();

  it('publishes a pool with its announced deposit, in the same transaction', async () => {
    const user = await app.signIn();
    const { id, createdAt } = (await app.createPool(user)) as { id: string; createdAt: string };
    const [{ deposit }] = await app.sql<{ deposit: string }>('SELECT id AS deposit FROM transactions');
    expect(await readEvents(app)).toEqual([
      {
        topic: 'pool.created',
        occurredAt: createdAt,
        poolId: id,
        contract: CONTRACTS.individual,
        transactionId: deposit,
        transactionType: 'DEPOSIT',
        account: user.address,
        amount: TEN,
      },
    ]);
    const [same] = await app.sql<{ same: boolean }>(
      `SELECT p.xmin::text = mod(o.xid::text::bigint, 4294967296)::text AS same FROM pools p, outbox o`,
    );
    expect(same).toEqual({ same: true });
  });

  it('publishes nothing of a request that is refused, and nothing twice for a repeated one', async () => {
    const user = await app.signIn();
    const before = (await readEvents(app)).length;
    const pool = { type: 'individual', initialDeposit: '1' };
    expect((await app.post('/pools', pool, user)).status).toBe(400);
    const good = { type: 'individual', initialDeposit: TEN };
    for (let i = 0; i < 2; i++) await app.post('/pools', good, user, { 'idempotency-key': 'once' });
    expect((await readEvents(app)).length).toBe(before + 1);
  });
});

/** What the handlers of the replicas were given. */
const given: { by: string; event: LedgerEvent }[] = [];
let answer: (event: LedgerEvent, by: string) => unknown = () => undefined;

@Injectable()
class Recorder {
  /** Of its process; each replica has another instance. */
  readonly name = `recorder ${++count}`;

  @OnLedgerEvent('deposit.confirmed', { consumer: 'test.deposits' })
  async onDeposit(event: LedgerEvent<'deposit.confirmed'>): Promise<void> {
    await answer(event, this.name);
    given.push({ by: this.name, event });
  }
}
let count = 0;

const others: LedgerEvent[] = [];
@Injectable()
class Beside {
  @OnLedgerEvent(['deposit.confirmed', 'yield.accrued', 'pool.created'], {
    consumer: 'test.beside',
    from: 'beginning',
  })
  onEvent(event: LedgerEvent<'deposit.confirmed' | 'yield.accrued' | 'pool.created'>): void {
    others.push(event);
  }
}

@Module({ providers: [Recorder, Beside] })
class ListeningModule {}

/** Lines of the log. */
const lines: string[] = [];
const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });

describe('consumers', () => {
  const app = useApp({}, { modules: [ListeningModule], logger });
  let user: SignedIn;
  let pool: string;

  beforeAll(async () => {
    user = await app.signIn();
    ({ id: pool } = (await app.createPool(user)) as { id: string });
    // Until the consumers are known to the database.
    await until(
      async () => (await app.sql(`SELECT FROM outbox_consumers WHERE name LIKE 'test.%'`)).length === 2,
    );
  });
  beforeEach(() => {
    answer = () => undefined;
    given.length = lines.length = 0;
  });
  /** Waits until no process holds the consumer: then its progress is stored. */
  const released = (): Promise<void> =>
    until(async () => {
      const free = `SELECT FROM outbox_consumers WHERE name = 'test.deposits' AND held_until <= now()`;
      return (await app.sql(free)).length === 1;
    });
  afterEach(released);
  const deposit = async (): Promise<string> =>
    (await addTransaction(app, { poolId: pool, account: user.address })).id;
  const handled = (): (string | undefined)[] =>
    given.map(({ event }) => (event as { transactionId: string }).transactionId);
  /** As a trigger would write it, but without the ledger's locks, for which such transactions would wait. */
  const publish = async (client: Client): Promise<string> => {
    const transactionId = randomUUID();
    await client.query('INSERT INTO outbox (count, items) VALUES (1, $1)', [
      JSON.stringify([{ topic: 'deposit.confirmed', transactionId }]),
    ]);
    return transactionId;
  };

  it('are given each event of their topics once, in order, with its id', async () => {
    const ids = [await deposit(), await deposit(), await deposit()];
    await accrue(app, pool, '5', 100);
    await until(() => given.length === 3);
    expect(handled()).toEqual(ids);
    const eventIds = given.map(({ event }) => event.id);
    expect([...new Set(eventIds)].sort()).toEqual(eventIds);
    expect(given[0].event).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{12}-[0-9a-f]{12}-0001$/) as unknown,
      topic: 'deposit.confirmed',
      occurredAt: expect.any(String) as unknown,
      poolId: pool,
      transactionId: ids[0],
      transactionType: 'DEPOSIT',
      txHash: expect.any(String) as unknown,
      blockNumber: expect.any(Number) as unknown,
      logIndex: 0,
      final: false,
      account: user.address,
      amount: '1000',
    });
  });

  it('begin now, or at the beginning', async () => {
    await until(() => others.some(({ topic }) => topic === 'yield.accrued'));
    expect(others.filter(({ topic }) => topic === 'pool.created')).toHaveLength(1);
    await app.replica({}, { modules: [ListeningModule], logger });
    const [{ count: rows }] = await app.sql<{ count: number }>(
      `SELECT count(*)::int FROM outbox_consumers WHERE name LIKE 'test.%'`,
    );
    expect(rows).toBe(2);
  });

  it('are not passed by a transaction that commits late', async () => {
    const [older, younger] = [await app.connect(), await app.connect()];
    await older.query('BEGIN');
    const first = await publish(older);
    await younger.query('BEGIN');
    const second = await publish(younger);
    await younger.query('COMMIT');
    const third = await deposit();
    // What nobody may read yet waits, and is seen to wait.
    await until(async () =>
      /outbox_lag_seconds\{consumer="test.deposits"\} (?!0$)/m.test((await app.get('/metrics')).text),
    );
    expect(given).toEqual([]);
    await older.query('COMMIT');
    await until(() => given.length === 3);
    expect(handled()).toEqual([first, second, third]);
  });

  it('get every committed event once from writers that overlap, over several processes', async () => {
    await app.replica({}, { modules: [ListeningModule], logger });
    const committed: string[] = [];
    const write = async (): Promise<void> => {
      const client = await app.connect();
      for (let i = 0; i < 12; i++) {
        await client.query('BEGIN');
        const ids = [await publish(client)];
        if (i % 5 === 0) ids.push(await publish(client));
        const commits = i % 4 > 0;
        await client.query(commits ? 'COMMIT' : 'ROLLBACK');
        if (commits) committed.push(...ids);
      }
    };
    await Promise.all(Array.from({ length: 4 }, write));
    await until(() => given.length >= committed.length);
    expect([...handled()].sort()).toEqual([...committed].sort());
    const eventIds = given.map(({ event }) => event.id);
    expect([...eventIds].sort()).toEqual(eventIds);
  });

  it('that fail are tried again with growing waits, stop no others, and say so', async () => {
    const ids: string[] = [];
    let attempts = 0;
    answer = () => {
      if (++attempts <= 4) throw new Error(`attempt ${attempts}`);
    };
    const writer = await app.connect();
    // In one transaction, so that one is not readable long before the other.
    await writer.query('BEGIN');
    ids.push(await publish(writer), await publish(writer));
    await writer.query('COMMIT');
    await until(() =>
      ids.every((id) => others.some((event) => (event as { transactionId?: string }).transactionId === id)),
    );
    // Nobody waits between tries.
    await until(async () => {
      await app.sql(`UPDATE outbox_consumers SET retry_at = now() WHERE retry_at > now()`);
      return given.length === 2;
    });
    expect(handled()).toEqual(ids);
    const failed = lines.filter((line) => line.includes('test.deposits failed with event'));
    expect(failed.map((line) => /retrying in ([\d.]+) s/.exec(line)?.[1])).toEqual(['0.5', '1', '2', '4']);
    expect(await app.metrics()).toContain('outbox_failures_total{consumer="test.deposits"} 4');
    await released();
    const [{ failures }] = await app.sql<{ failures: number }>(
      `SELECT failures FROM outbox_consumers WHERE name = 'test.deposits'`,
    );
    expect(failures).toBe(0);
  });

  it('wait as long after a failure as they say', async () => {
    answer = () => {
      throw new Error('not now');
    };
    // The next process that looks would take it.
    await app.sql(`UPDATE outbox_consumers SET failures = 5 WHERE name = 'test.deposits'`);
    const id = await deposit();
    const waits = (): Promise<{ wait: number }[]> =>
      app.sql(
        `SELECT date_part('epoch', retry_at - held_until) AS wait FROM outbox_consumers
         WHERE name = 'test.deposits' AND failures = 6 AND holder IS NULL`,
      );
    await until(async () => (await waits()).length > 0);
    expect(await waits()).toEqual([{ wait: 16 }]);
    answer = () => undefined;
    await app.sql(`UPDATE outbox_consumers SET retry_at = now() WHERE name = 'test.deposits'`);
    await until(() => given.length > 0);
    expect(handled()).toEqual([id]);
  });

  it('of a process that is gone are taken over, at the last position that was stored', async () => {
    const id = await deposit();
    await until(() => given.length === 1);
    await released();
    // As a process leaves it that was killed while it handled the event.
    await app.sql(
      `UPDATE outbox_consumers SET item = 0, holder = gen_random_uuid(), held_until = now() + interval '1 hour'
       WHERE name = 'test.deposits'`,
    );
    expect(await hold(app, 'test.deposits', randomUUID())).toBeUndefined();
    await app.sql(`UPDATE outbox_consumers SET held_until = now() WHERE name = 'test.deposits'`);
    await until(() => given.length === 2);
    expect(handled()).toEqual([id, id]);
  });

  it('that had not read what was removed say that they have missed it', async () => {
    // Nobody may take it meanwhile.
    await app.sql(`UPDATE outbox_consumers SET retry_at = 'infinity' WHERE name = 'test.deposits'`);
    await deposit();
    await app.sql(`UPDATE outbox SET created_at = now() - interval '8 days'`);
    await app.sweep('outbox');
    const id = await deposit();
    await app.sql(`UPDATE outbox_consumers SET retry_at = now() WHERE name = 'test.deposits'`);
    await until(() => given.length === 1);
    expect(handled()).toEqual([id]);
    expect(lines.filter((line) => line.includes('test.deposits has missed events'))).not.toEqual([]);
  });
});

describe('events that are seven days old', () => {
  const app = useApp();

  it('are removed, younger ones stay, and it is known how far', async () => {
    const user = await app.signIn();
    for (let i = 0; i < 5; i++) await app.createPool(user);
    await app.sql(
      `UPDATE outbox SET created_at = now() - CASE WHEN position <= (SELECT min(position) + 2 FROM outbox)
         THEN interval '7 days 1 minute' ELSE interval '6 days 23 hours' END`,
    );
    const [{ last }] = await app.sql<{ last: string }>(
      `SELECT xid || ' ' || position AS last FROM outbox WHERE created_at < now() - interval '7 days'
       ORDER BY xid DESC LIMIT 1`,
    );
    await app.sweep('outbox', 2);
    expect(await app.sql(`SELECT xid || ' ' || position AS last FROM outbox_removed`)).toEqual([{ last }]);
    await app.nest.get(ExpiredRows).sweep();
    expect(await app.sql('SELECT FROM outbox')).toHaveLength(2);
  });
});

describe('handlers that cannot work', () => {
  @Injectable()
  class Twin {
    @OnLedgerEvent('pool.created', { consumer: 'test.beside' })
    onPool(): void {}
  }

  @Injectable({ scope: Scope.REQUEST })
  class OfRequest {
    @OnLedgerEvent('pool.created', { consumer: 'test.request' })
    onPool(): void {}
  }
  const find = async (...providers: Provider[]): Promise<unknown> => {
    const module = Test.createTestingModule({ imports: [DiscoveryModule], providers });
    return findHandlers((await module.compile()).get(DiscoveryService));
  };

  it('are refused at startup: two of one name, and one of a provider that is created for each request', async () => {
    await expect(find(Beside)).resolves.toHaveLength(1);
    await expect(find(Beside, Twin)).rejects.toThrow(
      'Twin.onPool: another handler is the consumer "test.beside" already',
    );
    await expect(find(OfRequest)).rejects.toThrow("OfRequest.onPool: a handler's provider is a singleton");
  });
});

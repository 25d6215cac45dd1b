import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Database } from '#platform/database/database';
import type { Statement } from '#platform/postgres/statement';
import type { OutboxCursor } from '#ledger/outbox/ledger-event';
import { type SignedIn, type TestApp, until } from '../app';
import { EventReader, holdSweeps, holdTerms } from '../events/event-source';
import { readable } from '../events/outbox';

interface Call {
  name: string;
  values: OutboxCursor & { address?: string };
}

/** Another process on the app's database, new for each test: no stream has begun in it yet. */
export class SecondProcess {
  nest: NestFastifyApplication;
  readonly open: EventReader[] = [];
  /** Statements that it reads by. */
  readonly calls: Call[] = [];

  /** @param where streams that tests only need for their places begin and end as this user's */
  constructor(
    private readonly app: TestApp,
    private readonly where: () => SignedIn,
  ) {
    beforeEach(() => this.start());
    afterEach(() => this.stop());
  }

  private async start(): Promise<void> {
    holdSweeps();
    holdTerms();
    this.nest = await this.app.replica();
    await this.nest.listen(0, '127.0.0.1');
  }

  private async stop(): Promise<void> {
    jest.restoreAllMocks();
    for (const reader of this.open.splice(0)) reader.close();
    this.calls.length = 0;
  }

  async follow(who: SignedIn, last = ''): Promise<EventReader> {
    const { port } = this.nest.getHttpServer().address() as AddressInfo;
    const headers = { authorization: `Bearer ${who.token}`, ...(last && { 'last-event-id': last }) };
    const reader = await new EventReader().open(port, '/events', headers);
    this.open.push(reader);
    expect(reader.status).toBe(200);
    await until(() => reader.lastEventId !== '');
    return reader;
  }

  /** The place of a stream that begins now. */
  async here(): Promise<string> {
    await readable(this.app);
    const reader = await this.follow(this.where());
    reader.close();
    await until(() => reader.ended);
    return reader.lastEventId;
  }

  /** Writes down what is read from now on, and lets statements of the name wait. @returns what lets them continue */
  record(name?: string): () => void {
    let go: () => void = () => undefined;
    let held: Promise<void> | undefined = new Promise((resolve) => (go = resolve));
    const database = this.nest.get(Database);
    const readAll = database.readAll.bind(database) as (...given: unknown[]) => Promise<unknown[]>;
    const spied = async (statement: Statement, values: Call['values']): Promise<unknown[]> => {
      this.calls.push({ name: statement.name, values });
      if (statement.name === name) await held;
      return readAll(statement, values);
    };
    jest.spyOn(database, 'readAll').mockImplementation(spied as never);
    return () => {
      held = undefined;
      go();
    };
  }

  callsOf(name: string): Call[] {
    return this.calls.filter((call) => call.name === name);
  }
}

/** Rows of events of a pool, each of so many. */
export async function fill(
  app: TestApp,
  rows: number,
  count: number,
  poolId: string = randomUUID(),
): Promise<void> {
  await app.sql(
    `INSERT INTO outbox (count, items) SELECT $2::integer, json_agg(json_build_object(
       'topic', 'deposit.confirmed', 'poolId', $3::uuid, 'name', r || '.' || n))
     FROM generate_series(1, $1::integer) r, generate_series(1, $2::integer) n GROUP BY r ORDER BY r`,
    [rows, count, poolId],
  );
  await readable(app);
}

/** A row of one event of the pool for each name. */
export async function tell(app: TestApp, poolId: string, ...names: string[]): Promise<void> {
  for (const name of names)
    await app.sql(`INSERT INTO outbox (count, items) VALUES (1, $1)`, [
      JSON.stringify([{ topic: 'deposit.confirmed', poolId, name }]),
    ]);
  await readable(app);
}

export const namesOf = ({ events }: EventReader): string[] =>
  events.map(({ event, data }) => (event === 'reload' ? 'reload' : (data.name as string)));

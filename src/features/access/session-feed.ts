import { Injectable, Logger, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { performance } from 'node:perf_hooks';
import { Client } from 'pg';
import { OutageLog } from '#platform/log/outage-log';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { valuesOf } from '#platform/postgres/statement';
import { Loop } from '#platform/timing/loop';
import { within } from '#platform/timing/waits';
import { type Ending, LOOK_FOR_ENDINGS, MAX_ENDINGS } from './sessions.sql';

/** Time between two polls for ended sessions. */
const POLL_MS = 200;
/** After a longer gap, rows may have been removed unseen. Far below the hour for which rows are kept. */
const MAX_GAP_MS = 60_000;

/**
 * Polls the table session_endings over its own connection, so that every process knows within a second which sessions
 * the others ended. Unlike a notification, an answer to a poll also proves that nothing was missed.
 */
@Injectable()
export class SessionFeed implements OnModuleInit, OnApplicationShutdown {
  private readonly loop = new Loop(
    () => this.poll(),
    () => POLL_MS,
    new OutageLog(
      new Logger(SessionFeed.name),
      'ended sessions cannot be followed, so every request checks its own session',
      'ended sessions are followed again',
    ),
  );
  private client?: Client;
  private snapshot?: string;
  private lastPoll = { clock: -Infinity, wall: -Infinity };
  /** Rises when sessions may have ended unseen. Those checked in an earlier term must be checked again. */
  term = 0;

  constructor(private readonly environment: PostgresSettings) {}

  /** Whether this process knows every ending that is older than 0.7 s. The interface promises one second. */
  get fresh(): boolean {
    return this.age < this.environment.limits.pollMs + POLL_MS;
  }

  /** `Sessions` replaces this function. */
  onEndings: (endings: Ending[]) => void = () => undefined;

  /** An unavailable database does not block the start. Until it answers, `fresh` is false. */
  async onModuleInit(): Promise<void> {
    await this.loop.turn();
    this.loop.start();
  }

  onApplicationShutdown(): void {
    // The poll under way may still open a connection.
    void this.loop.stop().then(() => this.close());
    this.close();
  }

  /** Since the last poll began, in ms. Uses two clocks: one stops while the machine sleeps, the other can be set. */
  private get age(): number {
    const { clock, wall } = this.lastPoll;
    return Math.max(performance.now() - clock, Math.abs(Date.now() - wall));
  }

  private async poll(): Promise<void> {
    try {
      await this.pollEndings();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  private async pollEndings(): Promise<void> {
    const client = (this.client ??= await this.connect());
    if (this.age > MAX_GAP_MS) this.snapshot = undefined;
    const began = { clock: performance.now(), wall: Date.now() };
    const { name, text } = LOOK_FOR_ENDINGS;
    const values = valuesOf(LOOK_FOR_ENDINGS, { snapshot: this.snapshot ?? null });
    const { rows } = await within(
      this.environment.limits.pollMs,
      client.query<NonNullable<typeof LOOK_FOR_ENDINGS.row>>({ name, text, values }),
      // After a stall of this process the answer may be in the socket already, so `within` looks there before it gives
      // up. A late answer is as complete as any; `fresh` counts its age from the start of the poll.
      () => new Error('no answer in time'),
    );
    const [{ snapshot, standby, endings }] = rows;
    if (standby) throw new Error('the database is a standby');
    const everyone = endings.length > MAX_ENDINGS || endings.some(({ userId }) => userId === null);
    if (this.snapshot === undefined || everyone) this.term++;
    else if (endings.length > 0) this.onEndings(endings);
    this.snapshot = snapshot;
    this.lastPoll = began;
  }

  private async connect(): Promise<Client> {
    const client = new Client({
      connectionString: this.environment.DATABASE_URL,
      application_name: 'api sessions',
      options: '-c enable_seqscan=off',
      connectionTimeoutMillis: this.environment.limits.pollMs,
      keepAlive: true,
    });
    // Queries on a broken connection fail too, and that failure is handled.
    client.on('error', () => undefined);
    this.client = client;
    await client.connect();
    return client;
  }

  /** Does not wait, because the connection may be dead. */
  private close(): void {
    const { client } = this;
    this.client = undefined;
    this.snapshot = undefined;
    client?.end().catch(() => undefined);
  }
}

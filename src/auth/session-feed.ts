import { Injectable, Logger, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { Environment } from '../config/environment';
import { valuesOf } from '../database/statement';
import { type Ending, LOOK_FOR_ENDINGS, MAX_ENDINGS } from './sessions.sql';

/** Between two looks for ended sessions. */
const POLL_MS = 200;
/** For one look; a connection that takes longer is given up. */
const ANSWER_MS = 500;
/** From the start of a look on, what it found is taken for all there is. The interface promises one second. */
const FRESH_MS = 700;
/** After a longer gap rows may have been removed that were never seen here. Far below the hour that they stay. */
const MAX_GAP_MS = 60_000;
/**
 * Follows the table session_endings over a connection of its own, so that every process knows within a second which
 * sessions were ended by others. It polls: unlike a notification, an answer also proves that nothing was missed.
 */
@Injectable()
export class SessionFeed implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(SessionFeed.name);
  private readonly stopping = new AbortController();
  private readonly listeners: ((endings: Ending[]) => void)[] = [];
  private client?: Client;
  private snapshot?: string;
  private lastLook = { clock: -Infinity, wall: -Infinity };
  private working?: boolean;
  /** Counts the times from which on endings are known without a gap. What was checked in another is unproven. */
  term = 0;

  constructor(private readonly environment: Environment) {}

  /** Whether every ending is known here that was committed up to `FRESH_MS` ago. */
  get fresh(): boolean {
    return this.age < FRESH_MS;
  }

  onEndings(listener: (endings: Ending[]) => void): void {
    this.listeners.push(listener);
  }

  /** Does not wait for a database that is out: until it answers, nothing is fresh. */
  async onModuleInit(): Promise<void> {
    await this.attempt();
    void this.run();
  }

  onApplicationShutdown(): void {
    this.stopping.abort();
    this.close();
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await delay(POLL_MS, undefined, { ref: false, signal }).catch(() => undefined);
      if (!signal.aborted) await this.attempt();
    }
    // It may have been connecting when the process was told to stop.
    this.close();
  }

  /** Since the last look began, in ms. By both clocks, as one stands still with the machine and one can be set. */
  private get age(): number {
    const { clock, wall } = this.lastLook;
    return Math.max(performance.now() - clock, Math.abs(Date.now() - wall));
  }

  private async attempt(): Promise<void> {
    try {
      await this.look();
      if (this.working === false) this.logger.log('ended sessions are followed again');
      this.working = true;
    } catch (error) {
      this.close();
      if (this.working !== false && !this.stopping.signal.aborted)
        this.logger.warn(
          `ended sessions cannot be followed, so every request asks for its own: ${(error as Error).message}`,
        );
      this.working = false;
    }
  }

  private async look(): Promise<void> {
    const client = (this.client ??= await this.connect());
    if (this.age > MAX_GAP_MS) this.snapshot = undefined;
    const began = { clock: performance.now(), wall: Date.now() };
    const { name, text } = LOOK_FOR_ENDINGS;
    const values = valuesOf(LOOK_FOR_ENDINGS, { snapshot: this.snapshot ?? null });
    const { rows } = await client.query<NonNullable<typeof LOOK_FOR_ENDINGS.row>>({ name, text, values });
    const [{ snapshot, standby, endings }] = rows;
    if (standby) throw new Error('the database is a standby');
    const everyone = endings.length > MAX_ENDINGS || endings.some(({ userId }) => userId === null);
    if (this.snapshot === undefined || everyone) this.term++;
    else if (endings.length > 0) this.listeners.forEach((listener) => listener(endings));
    this.snapshot = snapshot;
    this.lastLook = began;
  }

  private async connect(): Promise<Client> {
    const client = new Client({
      connectionString: this.environment.DATABASE_URL,
      application_name: 'api sessions',
      options: '-c enable_seqscan=off',
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
    });
    // Its queries fail too, which is where it is dealt with.
    client.on('error', () => undefined);
    this.client = client;
    await client.connect();
    return client;
  }

  /** Waits for nothing: the connection may be one on which nothing comes any more. */
  private close(): void {
    const { client } = this;
    this.client = undefined;
    this.snapshot = undefined;
    client?.end().catch(() => undefined);
  }
}

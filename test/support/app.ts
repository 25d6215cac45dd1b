import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createHmac, randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { type Client, type ClientConfig, Pool, type QueryResultRow } from 'pg';
import pino, { type Logger } from 'pino';
import { register } from 'prom-client';
import { POOL_TYPES, byPoolType } from '#values/types';
import { Database } from '#platform/database/database';
import { ExpiredRows } from '#platform/database/expired-rows';
import { currentRequest } from '#platform/log/request-line';
import type { TimeLimits } from '#platform/postgres/budget';
import { type Environment, loadEnvironment } from '#settings/environment';
import { type AppOptions, createApp } from '#api/app.setup';
import { PATIENT, type TestDatabase, connectTo, freshDatabase, urlAs } from './database';
import { validatorFor } from './openapi';
import { type MessageFields, type Wallet, newWallet, siweMessage } from './wallet';

/** Random, because production refuses secrets that a repository contains. */
export const JWT_SECRET = randomBytes(32).toString('hex');
/** A JWT made by hand (RFC 7515), so that every part of it can be wrong. */
export function jwt(claims: object, { header = {}, secret = JWT_SECRET, digest = 'sha256' } = {}): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${encode({ alg: 'HS256', typ: 'JWT', ...header })}.${encode(claims)}`;
  return `${signed}.${createHmac(digest, secret).update(signed).digest('base64url')}`;
}
/** What API and indexer of production ask for on /metrics. */
export const METRICS_TOKEN = 'the token of the tests';
/** Contract of each pool type: 0x11…, 0x22… */
export const CONTRACTS = byPoolType((type) => `0x${`${POOL_TYPES.indexOf(type) + 1}`.repeat(40)}`);
/** As POOL_CONTRACTS names them. */
export const asSetting = (contracts: object): string =>
  Object.entries(contracts)
    .map((pair) => pair.join('='))
    .join();

export interface Request {
  method?: string;
  url: string;
  /** An object is sent as JSON, a string unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  as?: { token: string };
  /** Address of the peer. */
  ip?: string;
}

export interface Response {
  status: number;
  headers: Record<string, string | undefined>;
  /** Parsed, when it is JSON. Of errors without `message`: every answer is checked to repeat `error` there. */
  body: any;
  text: string;
  /** From the request until it arrived, in ms. */
  ms: number;
}

type Headers = Record<string, string>;
type Answer = { status: number; headers: Response['headers']; payload: string };

/** What `createApp` takes, and what of the service is replaced: `(builder) => builder.overrideGuard(X).useValue(y)`. */
export interface TestOptions extends Omit<AppOptions, 'create'> {
  /** Of its database; patient ones, if absent. A test about a limit gives those of production, or its own. */
  limits?: TimeLimits;
  override?: (builder: TestingModuleBuilder) => TestingModuleBuilder;
  logger?: Logger;
}

const creating = (override: TestOptions['override']): Pick<AppOptions, 'create'> =>
  override
    ? {
        create: async (module, adapter, options) => {
          const testing = await override(Test.createTestingModule({ imports: [module] })).compile();
          return testing.createNestApplication<NestFastifyApplication>(adapter, options);
        },
      }
    : {};

export interface SignedIn {
  token: string;
  wallet: Wallet;
  /** Lower-cased. */
  address: string;
  user: { id: string; address: string; createdAt: string };
}

/** Of an API on the database of `url`, with the account that an API has. */
export const settings = (
  url: string,
  overrides: NodeJS.ProcessEnv = {},
  limits: TimeLimits = PATIENT,
): Environment => ({
  ...loadEnvironment({
    NODE_ENV: 'test',
    LOG_LEVEL: 'silent',
    DATABASE_URL: urlAs(url, 'api'),
    DATABASE_POOL_SIZE: '10',
    JWT_SECRET,
    RATE_LIMIT_GENERAL: '1000000000',
    RATE_LIMIT_AUTH: '1000000000',
    POOL_CONTRACTS: asSetting(CONTRACTS),
    ...overrides,
  }),
  limits,
});

/** The same of an indexer. */
export const indexerSettings = (url: string, overrides: NodeJS.ProcessEnv = {}): Environment =>
  settings(url, { DATABASE_URL: urlAs(url, 'indexer'), ...overrides });

/** The API as production builds it, on a database of its own. Checks every answer against the OpenAPI document. */
export class TestApp {
  nest: NestFastifyApplication;
  database: TestDatabase;
  environment: Environment;
  validator: Awaited<ReturnType<typeof validatorFor>>;
  private pool: Pool;
  private readonly clients: Client[] = [];
  private readonly replicas: NestFastifyApplication[] = [];
  /** The port, once it listens. */
  port?: number;
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 10 });

  /** @param prepare gets the database before the app starts */
  async start(
    overrides: NodeJS.ProcessEnv = {},
    logger: Logger = pino({ level: 'silent' }),
    prepare?: (database: TestDatabase) => Promise<NodeJS.ProcessEnv>,
    { override, limits, ...options }: TestOptions = {},
  ): Promise<this> {
    this.database = await freshDatabase();
    this.pool = new Pool({ connectionString: this.database.url, max: 5 });
    // Tests close server connections, including these.
    this.pool.on('error', () => undefined);
    const given = { ...overrides, ...(await prepare?.(this.database)) };
    this.environment = settings(this.database.url, given, limits);
    this.nest = await createApp(this.environment, logger, { ...options, ...creating(override) });
    const isUsual = !override && Object.keys(options).length === 0;
    const ask = async (): Promise<string> => (await this.nest.inject('/docs/openapi.json')).payload;
    this.validator = await validatorFor(ask, isUsual);
    return this;
  }

  async stop(): Promise<void> {
    this.agent.destroy();
    await this.endConnections();
    await this.nest?.close();
    await this.pool?.end();
    await this.database?.drop();
  }

  async send({ method = 'GET', url, body, headers = {}, as, ip }: Request): Promise<Response> {
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const sent = {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(as && { authorization: `Bearer ${as.token}` }),
      ...headers,
    };
    const begun = performance.now();
    const answer = await (this.port
      ? this.request(method, url, sent, text)
      : this.inject(method, url, sent, text, ip));
    const ms = performance.now() - begun;
    const { status, payload } = answer;
    this.validator.check({ method, url, status, headers: answer.headers, text: payload });
    const json = String(answer.headers['content-type']).startsWith('application/json') && payload !== '';
    return {
      status,
      headers: answer.headers,
      body: json ? JSON.parse(payload, status >= 400 ? withoutMessage : undefined) : undefined,
      text: payload,
      ms,
    };
  }

  /** From now on requests use a socket and are sent unchanged. Injected ones pass through the URL class. */
  async listen(): Promise<void> {
    await this.nest.listen(0, '127.0.0.1');
    this.port = (this.nest.getHttpServer().address() as AddressInfo).port;
  }

  private async inject(
    method: string,
    url: string,
    headers: Headers,
    payload?: string,
    ip?: string,
  ): Promise<Answer> {
    const options = { method: method as 'GET', url, headers, payload, remoteAddress: ip };
    const answer = await this.nest.inject(options);
    return {
      status: answer.statusCode,
      headers: answer.headers as Response['headers'],
      payload: answer.payload,
    };
  }

  private request(method: string, path: string, given: Headers, body?: string): Promise<Answer> {
    // Node sends the body of a GET without a length, so the server would read it as the next request.
    const headers = { ...given, ...(body && { 'content-length': Buffer.byteLength(body) }) };
    return new Promise((resolve, reject) => {
      const sent = request({ port: this.port, host: '127.0.0.1', agent: this.agent, method, path, headers });
      sent.on('error', reject).on('response', (answer) => {
        let payload = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (payload += chunk));
        answer.on('end', () =>
          resolve({ status: answer.statusCode!, headers: answer.headers as Response['headers'], payload }),
        );
      });
      sent.end(body);
    });
  }

  get(url: string, as?: { token: string }, headers?: Record<string, string>): Promise<Response> {
    return this.send({ url, as, headers });
  }

  post(
    url: string,
    body: unknown,
    as?: { token: string },
    headers?: Record<string, string>,
  ): Promise<Response> {
    return this.send({ method: 'POST', url, body, as, headers });
  }

  /** What /metrics answers, as of now: there it may be a second old. Of all apps of this process. */
  metrics(): Promise<string> {
    return register.metrics();
  }

  /** The value of a series as of now, 0 if there is none. */
  async metric(series: string): Promise<number> {
    return metricIn(await this.metrics(), `${series} `);
  }

  /** A connection of its own, which ends with the test. */
  async connect(options?: ClientConfig): Promise<Client> {
    const client = await connectTo(this.database.url, options);
    this.clients.push(client);
    return client;
  }

  /** Another process on the same database, which ends with the test. */
  async replica(
    overrides?: NodeJS.ProcessEnv,
    { override, limits, logger = pino({ level: 'silent' }), ...options }: TestOptions = {},
  ): Promise<NestFastifyApplication> {
    const environment = settings(this.database.url, overrides, limits);
    const nest = await createApp(environment, logger, { ...options, ...creating(override) });
    this.replicas.push(nest);
    return nest;
  }

  async endConnections(): Promise<void> {
    for (const replica of this.replicas.splice(0)) await replica.close();
    for (const client of this.clients.splice(0)) await client.end();
  }

  async sql<Row extends QueryResultRow = QueryResultRow>(
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> {
    return (await this.pool.query<Row>(text, values)).rows;
  }

  /** Holds the lock that the first request with the key holds until its transaction ends. */
  async whileUnderWay<T>({ user }: SignedIn, key: string, work: () => Promise<T>): Promise<T> {
    const holder = await this.pool.connect();
    try {
      await holder.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [`${user.id} ${key}`]);
      return await work();
    } finally {
      await holder.query('SELECT pg_advisory_unlock_all()');
      holder.release();
    }
  }

  /** Has the expired rows of the table removed, until so many are left. A sweep does nothing beside another one. */
  sweep(table: string, left = 0): Promise<void> {
    return until(async () => {
      await this.nest.get(ExpiredRows).sweep();
      return (await this.sql(`SELECT FROM ${table}`)).length === left;
    });
  }

  async nonce(address?: string): Promise<string> {
    const answer = await (address ? this.post('/auth/nonce', { address }) : this.get('/auth/nonce'));
    if (answer.status !== 200) throw new Error(`no nonce: ${answer.text}`);
    return (answer.body as { nonce: string }).nonce;
  }

  /** @param fields of the message, where they have to be others than usual */
  async signIn(wallet: Wallet = newWallet(), fields: Partial<MessageFields> = {}): Promise<SignedIn> {
    const nonce = await this.nonce(wallet.address);
    const message = siweMessage({ address: wallet.address, nonce, ...fields });
    const signature = await wallet.signMessage({ message });
    const answer = await this.post('/auth/verify', { message, signature });
    if (answer.status !== 200) throw new Error(`sign-in failed: ${answer.text}`);
    const { token, user } = answer.body as { token: string; user: SignedIn['user'] };
    return { token, user, wallet, address: wallet.address.toLowerCase() };
  }

  /** @returns the payload of the answer */
  async createPool(as: { token: string }, fields: Record<string, unknown> = {}): Promise<any> {
    const answer = await this.post('/pools', { type: 'individual', initialDeposit: TEN, ...fields }, as);
    if (answer.status !== 201) throw new Error(`pool not created: ${answer.text}`);
    return answer.body.data;
  }

  /** @returns the names of what requests read of the database meanwhile, without what the service reads in the background */
  async readsDuring(work: () => Promise<unknown>): Promise<string[]> {
    const database = this.nest.get(Database);
    const read = database.read.bind(database);
    const names: string[] = [];
    const spy = jest.spyOn(database, 'read').mockImplementation((statement, values) => {
      if (currentRequest()) names.push(statement.name);
      return read(statement, values);
    });
    await work().finally(() => spy.mockRestore());
    return names;
  }
}

/** Leaves out the `message` of an error body, which holds `success`, and not those of its details. */
function withoutMessage(this: unknown, _: string, value: any): unknown {
  if (value?.success !== false || !('error' in value)) return value;
  const { message, ...rest } = value as { message: unknown; error: unknown };
  if (message !== rest.error) throw new Error(`message ${String(message)} is not ${String(rest.error)}`);
  return rest;
}

/** The value of the first series of these metrics that begins like this, 0 if there is none. */
export function metricIn(metrics: string, begins: string): number {
  const line = metrics.split('\n').find((each) => each.startsWith(begins));
  return Number(line?.split(' ').at(-1) ?? 0);
}

/** The minimum deposit. */
export const TEN = '10000000000000000000';

/** An app for the tests of a file or of a describe block. */
export function useApp(overrides?: NodeJS.ProcessEnv, { logger, ...options }: TestOptions = {}): TestApp {
  const app = new TestApp();
  beforeAll(() => app.start(overrides, logger, undefined, options));
  afterEach(() => app.endConnections());
  afterAll(() => app.stop());
  return app;
}

/** The lines of a log, parsed, without those that the app writes in the background. */
export const linesOfRequests = (lines: string[]): Record<string, unknown>[] =>
  lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ reqId, context }) => reqId !== undefined || context === undefined);

/** Removes expired rows until no batch is full. @returns how many */
export async function sweepAll(rows: ExpiredRows): Promise<number> {
  let total = 0;
  do total += await rows.sweep();
  while (rows.hasMore);
  return total;
}

/** Waits until the condition holds. The test's time limit applies. */
export async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await wait(10);
}

import 'reflect-metadata';
import { createSigner, createVerifier } from 'fast-jwt';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { hash } from 'node:crypto';
import type { QueryResultRow } from 'pg';
import { generateNonce } from 'siwe';
import { v7 as uuidv7 } from 'uuid';
import type { Address, Hex } from 'viem';
import { POOL_TYPES, type PoolType, type TransactionType } from '#values/types';
import type { CursorCodec } from '#platform/answers/cursor';
import { pipelinedPoolOptions } from '#platform/database/data-source';
import type { TypedStatement } from '#platform/postgres/statement';
import * as analytics from '#features/analytics/analytics.sql';
import { parseSiweMessage } from '#features/auth/siwe';
import { isSignedByKey } from '#features/auth/wallet-signature';
import { WINNER_CURSOR } from '#features/lottery/lottery.dto';
import * as lottery from '#features/lottery/lottery.sql';
import { POOL_CURSOR } from '#features/pools/pools.dto';
import * as pools from '#features/pools/pools.sql';
import { LIST_POSITIONS } from '#features/positions/positions.sql';
import { DEEP_OFFSET, LIST_DEEP_TRANSACTIONS } from '#features/transactions/deep-transactions.sql';
import { TRANSACTION_CURSOR } from '#features/transactions/transactions.dto';
import * as transactions from '#features/transactions/transactions.sql';
import * as users from '#features/users/users.sql';
import { loadEnvironment } from '#settings/environment';
import { CREATE_PLAIN_POOL, ISSUE_NONCE, SIGN_IN } from './peers.sql';

/** Runs a statement on a database, and returns its rows. */
export type Run = <P extends object, Row extends QueryResultRow>(
  statement: TypedStatement<P, Row>,
  parameters: P,
) => Promise<readonly Row[]>;
/** Connects to a database. `options` are settings of the sessions, as the service has them. */
export type Connect = (url: string, connections: number, options: string) => Promise<Run>;

/** As many as the service has: with more, PostgreSQL only switches between processes more often. */
const READ_CONNECTIONS = 4;
/** Simultaneous commits share a write to the disk, so here more connections help. */
const WRITE_CONNECTIONS = 16;

const environment = loadEnvironment(process.env);
const { JWT_SECRET: key, SIWE_DOMAINS: domains, HOST: host, PORT: port } = environment;

const verify = createVerifier({ key, algorithms: ['HS256'], cache: 10_000 });
const sign = createSigner({ key, expiresIn: '7d' });
const fastify = Fastify({ logger: false });

interface Caller {
  userId: string;
  address: string;
}

type Query<Type = never> = { page: number; limit: number; type?: Type };
interface NewPool {
  type: PoolType;
  initialDeposit: string;
  autoCompound: boolean;
  members: string[];
}

const callerOf = ({ headers }: FastifyRequest): Caller =>
  verify((headers.authorization ?? '').slice(7)) as Caller;

/** The first row. */
async function row<P extends object, Row extends QueryResultRow>(
  run: Run,
  statement: TypedStatement<P, Row>,
  parameters: P,
): Promise<Row> {
  const [first] = await run(statement, parameters);
  if (!first) throw Object.assign(new Error('Not found'), { statusCode: 404 });
  return first;
}

// PostgreSQL and the lines below write the JSON, so there is nothing left for a response schema to serialise.
const json = (reply: FastifyReply, text: string): FastifyReply =>
  reply.type('application/json; charset=utf-8').send(text);

const get = (reply: FastifyReply, text: string): FastifyReply =>
  json(reply.header('etag', `W/"${hash('sha1', text, 'base64url')}"`), text);

/** @param codec of the list's cursors, if it has any */
function list(
  reply: FastifyReply,
  { total, data, last }: { total: number; data: string; last?: string | null },
  { page, limit }: Query<unknown>,
  codec?: CursorCodec,
): FastifyReply {
  const pages = Math.ceil(total / limit);
  const next = last == null || page >= pages ? null : `"${codec!.encode(last)}"`;
  return get(
    reply,
    `{"success":true,"data":${data},"pagination":{"page":${page},"limit":${limit},"total":${total},"pages":${pages}}${codec ? `,"next":${next}` : ''}}`,
  );
}

const page = (limit: number): object => ({
  querystring: {
    type: 'object',
    properties: {
      page: { type: 'integer', minimum: 1, default: 1 },
      limit: { type: 'integer', minimum: 1, maximum: 100, default: limit },
      type: { type: 'string' },
    },
  },
});

const newPool = {
  body: {
    type: 'object',
    required: ['type', 'initialDeposit'],
    properties: {
      type: { enum: POOL_TYPES },
      initialDeposit: { type: 'string', pattern: '^\\d{1,78}$' },
      autoCompound: { type: 'boolean', default: false },
      members: {
        type: 'array',
        maxItems: 100,
        default: [],
        items: { type: 'string', pattern: '^0x[a-fA-F0-9]{40}$' },
      },
    },
  },
};

/**
 * The service's endpoints without framework, log, metrics, limits and error bodies: Fastify with the service's
 * statements. It keeps no totals: its pools go to a copy of the tables without triggers.
 */
async function listen(connect: Connect): Promise<void> {
  const settings = pipelinedPoolOptions(environment).options!;
  const reads = await connect(environment.DATABASE_URL, READ_CONNECTIONS, settings);
  const signIns = await connect(environment.DATABASE_URL, WRITE_CONNECTIONS, settings);
  const writes = await connect(process.env.PLAIN_URL!, WRITE_CONNECTIONS, settings);

  fastify.get('/pools', { schema: page(20) }, async (request, reply) => {
    const query = request.query as Query<PoolType>;
    const { page, limit, type = null } = query;
    const values = { caller: callerOf(request).address, type, limit, offset: (page - 1) * limit };
    return list(reply, await row(reads, pools.LIST_POOLS, values), query, POOL_CURSOR);
  });
  fastify.get('/transactions', { schema: page(20) }, async (request, reply) => {
    const query = request.query as Query<TransactionType>;
    const { page, limit, type = null } = query;
    const { userId: user, address: caller } = callerOf(request);
    const offset = (page - 1) * limit;
    const statement = offset > DEEP_OFFSET ? LIST_DEEP_TRANSACTIONS : transactions.LIST_TRANSACTIONS;
    return list(
      reply,
      await row(reads, statement, { user, caller, type, limit, offset }),
      query,
      TRANSACTION_CURSOR,
    );
  });
  fastify.get('/lottery/winners', { schema: page(10) }, async (request, reply) => {
    const query = request.query as Query;
    callerOf(request);
    const values = { limit: query.limit, offset: (query.page - 1) * query.limit };
    return list(reply, await row(reads, lottery.LIST_WINNERS, values), query, WINNER_CURSOR);
  });
  fastify.get('/users/me/positions', { schema: page(20) }, async (request, reply) => {
    const query = request.query as Query;
    const { page, limit } = query;
    const values = { caller: callerOf(request).address, limit, offset: (page - 1) * limit };
    return list(reply, await row(reads, LIST_POSITIONS, values), query);
  });

  type Params = { id: string };
  const one = <P extends object>(
    path: string,
    statement: TypedStatement<P, { data: string | null }>,
    values: (caller: Caller, id: string) => P,
  ): void => {
    fastify.get(path, async (request, reply) => {
      const caller = callerOf(request);
      const { data } = await row(reads, statement, values(caller, (request.params as Params).id));
      return get(reply, `{"success":true,"data":${data}}`);
    });
  };
  one('/pools/:id', pools.POOL_DETAIL, ({ address: caller }, pool) => ({ pool, caller }));
  one('/pools/:id/yield', pools.POOL_YIELD, ({ address: caller }, pool) => ({ pool, caller }));
  one('/transactions/:id', transactions.TRANSACTION_BY_HASH, ({ address: caller }, hash) => ({
    hash: hash.toLowerCase(),
    caller,
  }));
  one('/analytics/user', analytics.USER_ANALYTICS, ({ userId: user }) => ({ user }));
  one('/analytics/pools', analytics.POOL_ANALYTICS, () => ({}));
  one('/auth/me', users.ME, ({ userId: user }) => ({ user }));
  one('/lottery/current', lottery.CURRENT_DRAW, () => ({}));

  fastify.post('/pools', { schema: newPool }, async (request, reply) => {
    const { userId, address } = callerOf(request);
    const { type, initialDeposit, autoCompound, members } = request.body as NewPool;
    const balance = BigInt(initialDeposit);
    if (balance < BigInt(environment.MIN_DEPOSIT)) return reply.code(400).send();
    const others = new Set(members.map((member) => member.toLowerCase()));
    others.delete(address);
    const now = new Date();
    const pool = {
      id: uuidv7({ msecs: now.getTime() }),
      type,
      contractAddress: environment.POOL_CONTRACTS.get(type)!.at(-1)!,
      balance: balance.toString(),
      createdAt: now.toISOString(),
      depositId: uuidv7({ msecs: now.getTime() }),
    };
    const values = {
      pool: pool.id,
      type,
      owner: userId,
      contract: pool.contractAddress,
      autoCompound,
      members: [...others],
      createdAt: pool.createdAt,
      ownerAddress: address,
      deposit: pool.depositId,
      amount: pool.balance,
    };
    await writes(CREATE_PLAIN_POOL, values);
    return json(reply.code(201), `{"success":true,"data":${JSON.stringify(pool)}}`);
  });

  fastify.post('/auth/nonce', async (request, reply) => {
    const { address } = request.body as { address: string };
    const nonce = generateNonce();
    await signIns(ISSUE_NONCE, { nonce, address: address.toLowerCase() });
    return json(reply, JSON.stringify({ success: true, data: { nonce }, nonce }));
  });
  fastify.post('/auth/verify', async (request, reply) => {
    const { message, signature } = request.body as { message: string; signature: string };
    const siwe = parseSiweMessage(message, { domains });
    if (!isSignedByKey(message, siwe.address as Address, signature as Hex)) return reply.code(401).send();
    const values = { nonce: siwe.nonce, address: siwe.address.toLowerCase(), newId: uuidv7() };
    const { generation: _, ...user } = await row(signIns, SIGN_IN, values);
    const payload = { token: sign({ userId: user.id, address: user.address }), user };
    return json(reply, JSON.stringify({ success: true, data: payload, ...payload }));
  });

  await fastify.listen({ host, port });
  const stop = (): void => process.exit(0);
  process.on('SIGTERM', stop).on('disconnect', stop);
  process.send?.('listening');
}

export function serve(connect: Connect): void {
  listen(connect).catch((error: Error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  });
}

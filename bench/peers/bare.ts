import 'reflect-metadata';
import { createSigner, createVerifier } from 'fast-jwt';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { Pool, type QueryResultRow } from 'pg';
import { generateNonce } from 'siwe';
import { v7 as uuidv7 } from 'uuid';
import type { Address, Hex } from 'viem';
import * as analytics from '../../src/analytics/analytics.sql';
import * as auth from '../../src/auth/auth.sql';
import { parseSiweMessage } from '../../src/auth/siwe';
import { isSignedByKey } from '../../src/auth/wallet-signature';
import { loadEnvironment } from '../../src/config/environment';
import { dataSourceOptions } from '../../src/database/data-source';
import { type TypedStatement, valuesOf } from '../../src/database/statement';
import type { PoolType, TransactionType } from '../../src/common/types';
import * as lottery from '../../src/lottery/lottery.sql';
import * as pools from '../../src/pools/pools.sql';
import * as transactions from '../../src/transactions/transactions.sql';
import * as users from '../../src/users/users.sql';
import { CREATE_PLAIN_POOL } from './plain-pool.sql';

/**
 * The ceiling: Fastify and pg with the service's statements, without framework, log, metrics, limits and error
 * bodies. It keeps no totals: its pools go to a copy of the tables without triggers.
 */
const environment = loadEnvironment(process.env);
const {
  JWT_SECRET: key,
  SIWE_DOMAINS: domains,
  DATABASE_POOL_SIZE: max,
  HOST: host,
  PORT: port,
} = environment;
const { extra } = dataSourceOptions(environment) as { extra: object };
const reads = new Pool({ connectionString: environment.DATABASE_URL, max, ...extra, pipeline: false });
const writes = new Pool({ connectionString: process.env.PLAIN_URL, max, ...extra, pipeline: false });

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

async function row<P extends object, Row extends QueryResultRow>(
  statement: TypedStatement<P, Row>,
  parameters: P,
  pool = reads,
): Promise<Row> {
  const { name, text } = statement;
  const { rows } = await pool.query<Row>({ name, text, values: valuesOf(statement, parameters) });
  if (!rows[0]) throw Object.assign(new Error('Not found'), { statusCode: 404 });
  return rows[0];
}

// PostgreSQL and the lines below write the JSON, so there is nothing left for a response schema to serialise.
const json = (reply: FastifyReply, text: string): FastifyReply =>
  reply.type('application/json; charset=utf-8').send(text);
const one = (reply: FastifyReply, data: string): FastifyReply =>
  json(reply, `{"success":true,"data":${data}}`);

function list(
  reply: FastifyReply,
  { total, data }: { total: number; data: string },
  { page, limit }: Query<unknown>,
): FastifyReply {
  const pages = Math.ceil(total / limit);
  return json(
    reply,
    `{"success":true,"data":${data},"pagination":{"page":${page},"limit":${limit},"total":${total},"pages":${pages}}}`,
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
      type: { enum: ['individual', 'cooperative', 'lottery', 'rotating'] },
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

async function main(): Promise<void> {
  fastify.get('/pools', { schema: page(20) }, async (request, reply) => {
    const query = request.query as Query<PoolType>;
    const { page, limit, type = null } = query;
    const values = { address: callerOf(request).address, type, limit, offset: (page - 1) * limit };
    return list(reply, await row(pools.LIST_POOLS, values), query);
  });
  fastify.get('/transactions', { schema: page(20) }, async (request, reply) => {
    const query = request.query as Query<TransactionType>;
    const { page, limit, type = null } = query;
    const { userId: user, address } = callerOf(request);
    const offset = (page - 1) * limit;
    const statement =
      offset > transactions.DEEP ? transactions.LIST_DEEP_TRANSACTIONS : transactions.LIST_TRANSACTIONS;
    return list(reply, await row(statement, { user, address, type, limit, offset }), query);
  });
  fastify.get('/lottery/winners', { schema: page(10) }, async (request, reply) => {
    const query = request.query as Query;
    callerOf(request);
    return list(
      reply,
      await row(lottery.LIST_WINNERS, { limit: query.limit, offset: (query.page - 1) * query.limit }),
      query,
    );
  });

  type Params = { id: string };
  const get = <P extends object>(
    path: string,
    statement: TypedStatement<P, { data: string | null }>,
    values: (caller: Caller, id: string) => P,
  ): void => {
    fastify.get(path, async (request, reply) => {
      const caller = callerOf(request);
      const { data } = await row(statement, values(caller, (request.params as Params).id));
      return one(reply, data!);
    });
  };
  get('/pools/:id', pools.POOL_DETAIL, ({ address }, pool) => ({ pool, address }));
  get('/pools/:id/yield', pools.POOL_YIELD, ({ address }, pool) => ({ pool, address }));
  get('/transactions/:id', transactions.TRANSACTION_BY_HASH, ({ address }, hash) => ({
    hash: hash.toLowerCase(),
    address,
  }));
  get('/analytics/user', analytics.USER_ANALYTICS, ({ userId: user }) => ({ user }));
  get('/analytics/pools', analytics.POOL_ANALYTICS, () => ({}));
  get('/auth/me', users.ME, ({ userId: user }) => ({ user }));
  get('/lottery/current', lottery.CURRENT_DRAW, () => ({}));

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
    await row(CREATE_PLAIN_POOL, values, writes);
    return one(reply.code(201), JSON.stringify(pool));
  });

  fastify.post('/auth/nonce', async (request, reply) => {
    const { address } = request.body as { address: string };
    const nonce = generateNonce();
    const { name, text } = auth.ISSUE_NONCE;
    const values = valuesOf(auth.ISSUE_NONCE, { nonce, address: address.toLowerCase() });
    await reads.query({ name, text, values });
    return json(reply, JSON.stringify({ success: true, data: { nonce }, nonce }));
  });
  fastify.post('/auth/verify', async (request, reply) => {
    const { message, signature } = request.body as { message: string; signature: string };
    const siwe = parseSiweMessage(message, { domains });
    if (!(await isSignedByKey(message, siwe.address as Address, signature as Hex)))
      return reply.code(401).send();
    const values = { nonce: siwe.nonce, address: siwe.address.toLowerCase(), newId: uuidv7() };
    const { generation: _, ...user } = await row(auth.SIGN_IN, values);
    const payload = { token: sign({ userId: user.id, address: user.address }), user };
    return json(reply, JSON.stringify({ success: true, data: payload, ...payload }));
  });

  await fastify.listen({ host, port });
  const stop = (): void => process.exit(0);
  process.on('SIGTERM', stop).on('disconnect', stop);
  process.send?.('listening');
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});

import 'reflect-metadata';
import { createSigner, createVerifier } from 'fast-jwt';
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { hash } from 'node:crypto';
import { Client, type QueryResultRow } from 'pg';
import { generateNonce } from 'siwe';
import { v7 as uuidv7 } from 'uuid';
import type { Address, Hex } from 'viem';
import { POOL_TYPES, type PoolType } from '#values/types';
import { writePoolOptions } from '#platform/database/data-source';
import { type TypedStatement, valuesOf } from '#platform/postgres/statement';
import { parseSiweMessage } from '#features/auth/siwe';
import { isSignedByKey } from '#features/auth/wallet-signature';
import { loadEnvironment } from '#settings/environment';
import { READS, type Read } from '../endpoints';
import { CREATE_PLAIN_POOL, ISSUE_NONCE, SIGN_IN } from './peers.sql';

/** Runs a statement on a database, and returns its rows. */
type Run = <P extends object, Row extends QueryResultRow>(
  statement: TypedStatement<P, Row>,
  parameters: P,
) => Promise<readonly Row[]>;

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

interface Page {
  page: number;
  limit: number;
}

const pageOf = (limit: number): object => ({
  querystring: {
    type: 'object',
    properties: {
      page: { type: 'integer', minimum: 1, default: 1 },
      limit: { type: 'integer', minimum: 1, maximum: 100, default: limit },
      type: { type: 'string' },
    },
  },
});

/** A route for a read of the table, which answers as the service does. */
function serveRead(reads: Run, { path, statements: [statement], values, list }: Read): void {
  fastify.get(path, list ? { schema: pageOf(list.limit) } : {}, async (request, reply) => {
    const { userId: user, address: caller } = callerOf(request);
    const { page, limit } = request.query as Page;
    const [id] = Object.values(request.params as Record<string, string>);
    const asked = { user, caller, id, limit, offset: (page - 1) * limit };
    const { data, total, next } = await row(reads, statement, values(asked));
    if (!list) return get(reply, `{"success":true,"data":${data}}`);
    const pages = Math.ceil(total / limit);
    const cursor = next == null ? null : `"${list.cursor!.encode(next)}"`;
    return get(
      reply,
      `{"success":true,"data":${data},"pagination":{"page":${page},"limit":${limit},"total":${total},"pages":${pages}}${list.cursor ? `,"next":${cursor}` : ''}}`,
    );
  });
}

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

/** Pipelined as node-postgres documents it: a pool would use a client for one statement at a time. */
async function connect(connectionString: string, connections: number): Promise<Run> {
  const { options } = writePoolOptions(environment);
  const clients = Array.from(
    { length: connections },
    () => new Client({ connectionString, options, pipeline: true, keepAlive: true }),
  );
  await Promise.all(clients.map((client) => client.connect()));
  let turn = 0;
  return async (statement, parameters) => {
    const { name, text } = statement;
    const client = clients[turn++ % connections];
    return (await client.query({ name, text, values: valuesOf(statement, parameters) })).rows;
  };
}

/**
 * The service's endpoints without framework, log, metrics, limits and error bodies: Fastify and pg with the service's
 * statements. It keeps no totals: its pools go to a copy of the tables without triggers.
 */
async function listen(): Promise<void> {
  const reads = await connect(environment.DATABASE_URL, READ_CONNECTIONS);
  const signIns = await connect(environment.DATABASE_URL, WRITE_CONNECTIONS);
  const writes = await connect(process.env.PLAIN_URL!, WRITE_CONNECTIONS);

  for (const read of READS) serveRead(reads, read);

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

listen().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});

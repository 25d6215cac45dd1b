import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

interface Call {
  id: number;
  method: string;
  params: unknown[];
}

interface Answer {
  id: number;
  result?: unknown;
  error?: { code: number; message: string };
}

export interface Log {
  address: string;
  topics: string[];
  data: string;
  blockHash: string;
  blockNumber: string;
  logIndex: string;
}

/** Faults on the way to the node. Everything unset works. */
export interface Faults {
  /** Of a whole HTTP request. */
  http?: () => 'ok' | 429 | 502 | 'drop' | 'hang' | 'huge';
  /** Blocks that the node which gets this HTTP request lacks. */
  behind?: () => number;
  maxRange?: number;
  maxLogs?: number;
  logs?: (logs: Log[], filter: { address: string[]; fromBlock: string; toBlock: string }) => Log[];
  /** Changes any other result. */
  result?: (method: string, result: unknown, params: unknown[]) => unknown;
  batch?: (answers: Answer[]) => Answer[] | Answer;
  /** Calls in one HTTP request; larger ones are refused as a whole. */
  maxBatch?: number;
  /** Methods that are refused, or all. */
  refuse?: (method: string, params: unknown[]) => boolean;
}

const hex = (value: number): string => `0x${value.toString(16)}`;

/** 900 MB that never become an answer. */
function* huge(): Generator<Buffer> {
  const chunk = Buffer.alloc(1_000_000, ' ');
  for (let i = 0; i < 900; i += 1) yield chunk;
}

/** A JSON-RPC provider in front of a node, with faults that tests switch on and off. */
export class RpcProxy {
  faults: Faults = {};
  requests = 0;
  /** The blocks that it calls safe and final, by its head. Those that are unset it does not know. */
  tags: Partial<Record<'safe' | 'finalized', (head: number) => number>> = {};
  // A client that sends on a connection just as it is closed would fail, so none is.
  private readonly server = createServer(
    { keepAliveTimeout: 0 },
    (request, response) => void this.handle(request, response),
  );

  constructor(public target: string) {}

  async start(): Promise<this> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1;
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const fault = this.faults.http?.() ?? 'ok';
    if (fault === 'hang') return;
    if (fault === 'huge') {
      const body = Readable.from(huge());
      response.once('close', () => body.destroy());
      return void body.pipe(response);
    }
    if (fault === 'drop') return void request.socket.destroy();
    if (fault !== 'ok') return void response.writeHead(fault).end('<html>unavailable</html>');
    try {
      const body = JSON.parse(text) as Call | Call[];
      const calls = Array.isArray(body) ? body : [body];
      const { maxBatch = Infinity } = this.faults;
      if (calls.length > maxBatch) {
        const error = { code: -32600, message: `no more than ${maxBatch} calls at once` };
        return void response.end(JSON.stringify({ jsonrpc: '2.0', error }));
      }
      const behind = this.faults.behind?.() ?? 0;
      const head = behind > 0 ? Number(await this.ask('eth_blockNumber', [])) - behind : Infinity;
      const answers: Answer[] = [];
      for (const call of calls) answers.push(await this.answer(call, head));
      const sent = this.faults.batch && Array.isArray(body) ? this.faults.batch(answers) : answers;
      if (response.destroyed) return;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(Array.isArray(body) ? sent : answers[0]));
    } catch {
      // The node is gone.
      request.socket.destroy();
    }
  }

  private async answer({ id, method, params = [] }: Call, head: number): Promise<Answer> {
    if (params[0] === 'safe' || params[0] === 'finalized') {
      const number = this.tags[params[0]]?.(Number(await this.ask('eth_blockNumber', [])));
      if (number === undefined) return { id, result: null };
      params = [hex(Math.max(0, number)), false];
    }
    const { maxRange, maxLogs, logs, result } = this.faults;
    if (this.faults.refuse?.(method, params)) return { id, error: { code: -32601, message: 'not here' } };
    if (method === 'eth_call' && Number(params[1]) > head)
      return { id, error: { code: -32000, message: 'header not found' } };
    if (method === 'eth_getBlockByNumber' && head < Infinity) {
      const [tag] = params as [string];
      if (tag === 'latest') params = [hex(head), false];
      else if (Number(tag) > head) return { id, result: null };
    }
    if (method !== 'eth_getLogs') {
      try {
        const found = await this.ask(method, params);
        return { id, result: result ? result(method, found, params) : found };
      } catch (error) {
        return { id, error: { code: -32000, message: (error as Error).message } };
      }
    }
    const filter = {
      ...(params[0] as { address: string[]; fromBlock: string; toBlock: string; blockHash?: string }),
    };
    if (filter.blockHash) {
      const pinned = (await this.ask('eth_getLogs', [filter])) as Log[];
      return { id, result: logs ? logs(pinned, filter) : pinned };
    }
    if (maxRange && Number(filter.toBlock) - Number(filter.fromBlock) >= maxRange)
      return { id, error: { code: -32602, message: `block range is limited to ${maxRange}` } };
    if (Number(filter.toBlock) > head) filter.toBlock = hex(head);
    const past = Number(filter.fromBlock) > Number(filter.toBlock);
    let found = past ? [] : ((await this.ask('eth_getLogs', [filter])) as Log[]);
    if (logs) found = logs(found, filter);
    if (maxLogs && found.length > maxLogs)
      return { id, error: { code: -32000, message: `query returns more than ${maxLogs} results` } };
    return { id, result: found };
  }

  /** Asks the node itself. */
  async ask(method: string, params: unknown[]): Promise<unknown> {
    const answer = await fetch(this.target, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const { result, error } = (await answer.json()) as Answer;
    if (error) throw new Error(error.message);
    return result;
  }
}

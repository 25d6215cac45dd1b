import type { IncomingMessage, ServerResponse } from 'node:http';
import { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { FakeNode } from '../network/fake-node';

export interface Call {
  id: number;
  method: string;
  params: any[];
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

/** An answer of a node that refuses the call. */
export class Refused extends Error {
  constructor(
    message = 'not here',
    readonly code = -32601,
  ) {
    super(message);
  }
}

/** What a node answers to a call, or `Refused`. It cuts the connection where this throws. */
export type Answers = (method: string, params: any[]) => unknown;
/** Replies to a whole HTTP request. */
export type Reply = (response: ServerResponse, calls: Call[]) => unknown;

/** Faults of a node, or on the way to it. Everything unset works. */
export interface Faults {
  /** Of a whole HTTP request. */
  http?: () => 'ok' | 429 | 502 | 'drop' | 'hang' | Reply;
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
  refuse?: (method: string, params: any[]) => boolean;
}

export const hex = (value: number): string => `0x${value.toString(16)}`;

/** A node at this address as the indexer knows it. */
export const endpointOf = (url: string): WatchedEndpoint =>
  new WatchedEndpoint(
    { url, headers: {}, name: url },
    [],
    () => undefined,
    () => undefined,
  );

/** A JSON-RPC node of a test, with faults that the test switches on and off. */
export class RpcNode {
  faults: Faults = {};
  /** The calls of each request. */
  requests: Call[][] = [];
  /** The blocks that it calls safe and final, by its head. Those that are unset it does not know. */
  tags: Partial<Record<'safe' | 'finalized', (head: number) => number>> = {};
  private server: FakeNode;

  /** @param target a function that answers, or the address of the node that does */
  constructor(public target: string | Answers) {}

  static start(target: string | Answers): Promise<RpcNode> {
    return new RpcNode(target).start();
  }

  async start(): Promise<this> {
    this.server = await FakeNode.start((...request) => void this.handle(...request));
    return this;
  }

  get url(): string {
    return this.server.url;
  }

  get endpoint(): WatchedEndpoint {
    return endpointOf(this.url);
  }

  get calls(): Call[] {
    return this.requests.flat();
  }

  /** Of each request the number of its calls. */
  get sizes(): number[] {
    return this.requests.map(({ length }) => length);
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  private async handle(request: IncomingMessage, response: ServerResponse, text: string): Promise<void> {
    const body = JSON.parse(text) as Call | Call[];
    const calls = [body].flat();
    this.requests.push(calls);
    const fault = this.faults.http?.() ?? 'ok';
    if (fault === 'hang') return;
    if (fault === 'drop') return void request.socket.destroy();
    if (typeof fault === 'function') return void fault(response, calls);
    if (fault !== 'ok') return void response.writeHead(fault).end('<html>unavailable</html>');
    try {
      const answer = await this.answerAll(calls, Array.isArray(body));
      if (response.destroyed) return;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answer));
    } catch {
      request.socket.destroy();
    }
  }

  private async answerAll(calls: Call[], isBatch: boolean): Promise<unknown> {
    const { maxBatch = Infinity, batch } = this.faults;
    if (calls.length > maxBatch)
      return { jsonrpc: '2.0', error: { code: -32600, message: `no more than ${maxBatch} calls at once` } };
    const behind = this.faults.behind?.() ?? 0;
    const head = behind > 0 ? Number(await this.ask('eth_blockNumber', [])) - behind : Infinity;
    const answers: Answer[] = [];
    for (const call of calls) answers.push(await this.answer(call, head));
    if (!isBatch) return answers[0];
    return batch ? batch(answers) : answers;
  }

  private async answer({ id, method, params = [] }: Call, head: number): Promise<Answer> {
    const result = await this.resultOf(method, params, head);
    if (!(result instanceof Refused)) return { id, result: result ?? null };
    return { id, error: { code: result.code, message: result.message } };
  }

  private async resultOf(method: string, params: any[], head: number): Promise<unknown> {
    const tag: unknown = params[0];
    if (tag === 'safe' || tag === 'finalized') {
      const number = this.tags[tag]?.(Number(await this.ask('eth_blockNumber', [])));
      if (number !== undefined) params = [hex(Math.max(0, number)), false];
      else if (typeof this.target === 'string') return null;
    }
    if (this.faults.refuse?.(method, params)) return new Refused();
    if (method === 'eth_getLogs') return this.logs(params[0], head);
    if (method === 'eth_call' && Number(params[1]) > head) return new Refused('header not found', -32000);
    if (method === 'eth_getBlockByNumber' && head < Infinity) {
      if (params[0] === 'latest') params = [hex(head), false];
      else if (Number(params[0]) > head) return null;
    }
    const found = await this.ask(method, params);
    return this.faults.result && !(found instanceof Refused)
      ? this.faults.result(method, found, params)
      : found;
  }

  private async logs(filter: any, head: number): Promise<unknown> {
    const { maxRange, maxLogs, logs = (found: Log[]) => found } = this.faults;
    const first = Number(filter.fromBlock);
    const last = Math.min(Number(filter.toBlock), head);
    if (maxRange && Number(filter.toBlock) - first >= maxRange)
      return new Refused(`block range is limited to ${maxRange}`, -32602);
    // Of a block that is named by its hash, or up to the head.
    const asked = filter.blockHash ? filter : { ...filter, toBlock: hex(last) };
    const found = first > last ? [] : await this.ask('eth_getLogs', [asked]);
    if (!Array.isArray(found)) return found;
    const shown = logs(found as Log[], asked);
    return maxLogs && shown.length > maxLogs
      ? new Refused(`query returns more than ${maxLogs} results`, -32000)
      : shown;
  }

  /** Asks the node itself. */
  async ask(method: string, params: unknown[]): Promise<unknown> {
    if (typeof this.target === 'function') return this.target(method, params);
    const answer = await fetch(this.target, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const { result, error } = (await answer.json()) as Answer;
    return error ? new Refused(error.message, -32000) : result;
  }
}

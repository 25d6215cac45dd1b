import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pad, toEventSelector, toFunctionSelector, toHex } from 'viem';
import { bytes16 } from '#values/bytes16';
import type { Pool } from './chain';
import { obey } from './helper';

/** A JSON-RPC request. */
interface Call {
  id: number;
  method: string;
  params?: [string | { fromBlock: string; toBlock: string; to: string; data?: string }, string];
}

const hex = (value: number): string => `0x${value.toString(16)}`;
const word = (value: number): string => value.toString(16).padStart(64, '0');
export const hash = (kind: string, value: number): string => `0x${kind}${word(value).slice(kind.length)}`;
/** Of each contract, and what the token says of itself. */
const TOKEN_FACTS: Record<string, string> = {
  [toFunctionSelector('function token()')]: word(70),
  [toFunctionSelector('function decimals()')]: word(18),
};
const SELECTOR = toEventSelector('Deposited(bytes16,bytes16,address,uint256,uint64)');

/** A JSON-RPC node that generates blocks of deposits on request, so that millions of events need no storage. */
export class GeneratedNode {
  private server: Server;

  /** @param genesis the time of the first block, in seconds; blocks follow each second */
  constructor(
    readonly contract: string,
    private readonly pools: Pool[],
    private readonly perBlock: number,
    readonly head: number,
    private readonly genesis: number,
  ) {}

  async start(): Promise<this> {
    this.server = createServer((request, response) => void this.handle(request, response));
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const body = JSON.parse(text) as Call | Call[];
    const answers = [body]
      .flat()
      .map((call) => `{"jsonrpc":"2.0","id":${call.id},"result":${this.result(call)}}`);
    response.setHeader('content-type', 'application/json');
    response.end(Array.isArray(body) ? `[${answers.join(',')}]` : answers[0]);
  }

  private result({ method, params = ['', ''] }: Call): string {
    const [first, block] = params;
    if (typeof first === 'object') {
      const fact = TOKEN_FACTS[first.data ?? ''];
      if (method === 'eth_call' && fact) return `"0x${fact}"`;
      if (method === 'eth_call')
        return first.to === this.contract ? `"0x${word(Number(block) * this.perBlock)}"` : '"0x"';
      return `[${[...this.logs(Number(first.fromBlock), Number(first.toBlock))].join(',')}]`;
    }
    if (method === 'eth_getBlockByNumber') return this.block(first === 'latest' ? this.head : Number(first));
    if (method === 'eth_getBlockReceipts') return '[]';
    return method === 'eth_getCode' ? '"0x01"' : '"0x1"';
  }

  private block(number: number): string {
    if (number > this.head) return 'null';
    const parentHash = number > 0 ? hash('b', number - 1) : hash('0', 0);
    return JSON.stringify({
      number: hex(number),
      hash: hash('b', number),
      parentHash,
      timestamp: hex(this.genesis + number),
    });
  }

  private *logs(from: number, to: number): Generator<string> {
    for (let number = Math.max(from, 1); number <= to; number++)
      for (let index = 0; index < this.perBlock; index++) {
        const seq = (number - 1) * this.perBlock + index + 1;
        const pool = this.pools[seq % this.pools.length];
        const topics = [
          SELECTOR,
          pad(bytes16(pool.id), { dir: 'right' }),
          `0x${word(0)}`,
          pad(pool.owner as `0x`),
        ];
        yield JSON.stringify({
          address: this.contract,
          topics,
          data: `0x${word(1000 + seq)}${word(seq)}`,
          blockNumber: hex(number),
          blockHash: hash('b', number),
          blockTimestamp: hex(this.genesis + number),
          transactionHash: hash('a', seq),
          transactionIndex: toHex(index),
          logIndex: toHex(index),
          removed: false,
        });
      }
  }
}

/** What the constructor takes. */
export type NodeOrders = ConstructorParameters<typeof GeneratedNode>;

/** As a process of its own, whose work does not delay the clients. */
if (require.main === module) {
  let node: GeneratedNode;
  obey<NodeOrders, { url: string }>(
    async (orders) => {
      node = await new GeneratedNode(...orders).start();
      return { url: node.url };
    },
    async () => ({ url: node.url }),
  );
}

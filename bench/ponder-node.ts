import type { Pool } from './chain';
import { type Call, GeneratedNode, START, hash, hex, word } from './generated-node';
import { obey } from './helper';

/** Blocks without events behind the last one, so that everything measured is final for ponder. */
const EMPTY = 200;
/** Distance from the head to the block that is `finalized`. */
const FINAL = 65;

const ZERO = `0x${word(0)}`;
const BLOOM = `0x${'0'.repeat(512)}`;
const TAGS: Record<string, number> = { latest: 0, safe: FINAL, finalized: FINAL };

/**
 * A generated chain as ponder reads it: with tags and with blocks whole, as they hold what a handler is told of an
 * event. It listens on every address of the loop, because ponder's throttle is for each host.
 */
class PonderNode extends GeneratedNode {
  protected override readonly host = '0.0.0.0';
  /** By method. */
  readonly requests: Record<string, number> = {};

  protected override result(call: Call): string {
    const { method, params = ['', ''] } = call;
    const [first, second] = params;
    this.requests[method] = (this.requests[method] ?? 0) + 1;
    const last = this.head + EMPTY;
    if (method === 'eth_blockNumber') return `"${hex(last)}"`;
    if (method === 'eth_getBlockByNumber' && typeof first === 'string')
      return this.whole(first in TAGS ? last - TAGS[first] : Number(first), Boolean(second));
    if (method === 'eth_getLogs' && typeof first === 'object') {
      const toBlock = String(Math.min(Number(first.toBlock), this.head));
      return super.result({ ...call, params: [{ ...first, toBlock }, second] });
    }
    if (method === 'eth_call' && typeof first === 'object') {
      const number = second === 'latest' ? this.head : Math.min(Number(second), this.head);
      return super.result({ ...call, params: [first, String(number)] });
    }
    return super.result(call);
  }

  private whole(number: number, full: boolean): string {
    if (number > this.head + EMPTY) return 'null';
    const block = {
      number: hex(number),
      hash: hash('b', number),
      parentHash: number > 0 ? hash('b', number - 1) : hash('0', 0),
      timestamp: hex(START + number),
      logsBloom: BLOOM,
      miner: this.contract,
      nonce: '0x0000000000000000',
      size: '0x4000',
      difficulty: '0x0',
      totalDifficulty: '0x0',
      extraData: '0x',
      gasLimit: '0x1c9c380',
      gasUsed: '0x989680',
      baseFeePerGas: '0x7',
      uncles: [],
    };
    const roots = ['mixHash', 'stateRoot', 'receiptsRoot', 'transactionsRoot', 'sha3Uncles'];
    return JSON.stringify({
      ...block,
      ...Object.fromEntries(roots.map((name) => [name, ZERO])),
      transactions: this.transactions(number, full),
    });
  }

  private transactions(number: number, full: boolean): (string | object)[] {
    if (number < 1 || number > this.head) return [];
    return Array.from({ length: this.perBlock }, (_, index) => {
      const seq = (number - 1) * this.perBlock + index + 1;
      const id = hash('a', seq);
      return full ? this.transaction(number, index, seq, id) : id;
    });
  }

  private transaction(number: number, index: number, seq: number, id: string): object {
    const pool: Pool = this.pools[seq % this.pools.length];
    return {
      blockHash: hash('b', number),
      blockNumber: hex(number),
      transactionIndex: hex(index),
      hash: id,
      from: pool.owner,
      to: this.contract,
      input: `0x8340f549${word(seq % this.pools.length)}${word(0)}${word(1000 + seq)}`,
      value: '0x0',
      nonce: hex(seq),
      gas: '0x15f90',
      gasPrice: '0x3b9aca07',
      maxFeePerGas: '0x77359400',
      maxPriorityFeePerGas: '0x3b9aca00',
      type: '0x2',
      accessList: [],
      chainId: '0x1',
      v: '0x1',
      yParity: '0x1',
      r: hash('1', seq),
      s: hash('2', seq),
    };
  }
}

export interface PonderNodeReport {
  port: number;
  requests: Record<string, number>;
}

let node: PonderNode;
const report = async (): Promise<PonderNodeReport> => ({ port: node.port, requests: node.requests });
obey<ConstructorParameters<typeof GeneratedNode>, PonderNodeReport>(async (orders) => {
  node = await new PonderNode(...orders).start();
  return report();
}, report);

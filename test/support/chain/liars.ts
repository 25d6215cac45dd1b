import { type Faults, type Log, hex } from './rpc-node';

interface RawBlock {
  number: string;
  hash: string;
  parentHash: string;
  timestamp: string;
}

/** Another hash, always the same one for the same hash. */
const another = (hash: string): string => `0x${[...hash.slice(2)].reverse().join('')}`;

/** Changes the blocks that the endpoint shows. */
const blocks =
  (change: (block: RawBlock, number: number, tag: unknown) => Partial<RawBlock>): Faults['result'] =>
  (method, result, [tag]) => {
    if (method !== 'eth_getBlockByNumber' || !result) return result;
    const block = result as RawBlock;
    return { ...block, ...change(block, Number(block.number), tag) };
  };

/** Ways in which an endpoint can lie so that its own answers fit one another. */
export const liars = {
  /** Says other amounts than the chain. */
  amounts: (): Faults => ({
    logs: (logs) =>
      logs.map((log): Log => ({ ...log, data: `0x${'0'.repeat(56)}1234abcd${log.data.slice(66)}` })),
  }),
  /** Leaves the last event out, and counts one fewer. */
  omission: (): Faults => ({
    logs: (logs) => logs.slice(0, -1),
    result: (method, result) =>
      method === 'eth_call' && Number(result) > 0
        ? `0x${(BigInt(result as string) - 1n).toString(16)}`
        : result,
  }),
  /** Shows another branch from a block on. */
  branch: (from: number): Faults => ({
    result: blocks(({ hash, parentHash }, number) => ({
      hash: number >= from ? another(hash) : hash,
      parentHash: number > from ? another(parentHash) : parentHash,
    })),
    logs: (logs) =>
      logs.map((log) =>
        Number(log.blockNumber) >= from ? { ...log, blockHash: another(log.blockHash) } : log,
      ),
  }),
  /** Sends block times that are this many seconds late. */
  times: (seconds: number): Faults => ({
    result: blocks(({ timestamp }) => ({ timestamp: hex(Number(timestamp) + seconds) })),
  }),
  /** Adds one to the results of views. */
  views: (): Faults => ({
    result: (method, result) =>
      method === 'eth_call' && /^0x.{64}$/.test(String(result))
        ? `0x${(BigInt(result as string) + 1n).toString(16).padStart(64, '0')}`
        : result,
  }),
  /** Claims blocks that nobody else has. */
  head: (more: number): Faults => ({ result: blocks((_, number) => ({ number: hex(number + more) })) }),
  /** Says other amounts, and makes the others look as if they were behind. */
  ahead: (): Faults => ({
    ...liars.amounts(),
    result: blocks((_, number, tag) => (tag === 'latest' ? { number: hex(number + 10) } : {})),
  }),
};

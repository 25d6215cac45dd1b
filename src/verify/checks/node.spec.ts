import type { Client } from 'pg';
import { Findings } from './findings';
import { Look } from './look';
import { compareEventsAtNode } from './node';

it('asks for the logs of no more than 100 blocks that a node does not have', async () => {
  const keys = Array.from({ length: 200 }, (_, i) => `${i} 0`);
  const query = (_: string, [blocks]: string[][]): unknown =>
    Promise.resolve({
      rows: blocks.map((block) => ({ block, index: '0', contract: '0xab', tx_hash: '0xcd' })),
    });
  const asked: string[] = [];
  const ask = (calls: [string, unknown[]][]): Promise<unknown[]> => {
    asked.push(...calls.map(([method]) => method));
    return Promise.resolve(
      calls.map(([method]) =>
        method === 'eth_getBlockByNumber' ? { timestamp: '0x1' } : new Error('pruned'),
      ),
    );
  };
  const look = new Look({ query } as unknown as Client, new Findings(1000), { chain: { ask } });
  await expect(compareEventsAtNode(look, keys)).rejects.toThrow('events of block 100: pruned');
  expect(asked.filter((method) => method === 'eth_getTransactionReceipt')).toHaveLength(101);
  expect(look.findings.report().notChecked).toHaveLength(100);
});

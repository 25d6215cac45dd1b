import { otherChain } from '#dev/chain';
import { useApp } from '../support/app';
import { type Answers, RpcNode } from '../support/chain/rpc-node';

const app = useApp();
const [KNOWN, FRESH] = ['a', 'b'].map((digit) => `0x${digit.repeat(64)}`);

const node = (chainId: number, hash: string): Answers => {
  const block = { hash, number: '0x0', timestamp: '0x0', transactions: [] };
  return (method) => (method === 'eth_chainId' ? `0x${chainId.toString(16)}` : block);
};
async function said(answers: Answers): Promise<string | undefined> {
  const rpc = await RpcNode.start(answers);
  return otherChain(app.database.url, rpc.url).finally(() => rpc.stop());
}

it('a database that has read another chain than the node has is named, and nothing else', async () => {
  expect(await said(node(31337, FRESH))).toBeUndefined();
  await app.sql(`INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time,
    applied_number, beat_at) VALUES (31337, '${KNOWN}', 1, '${KNOWN}', now(), 1, now())`);
  expect(await said(node(31337, KNOWN))).toBeUndefined();
  expect(await said(node(31337, FRESH))).toMatch(
    `with genesis ${KNOWN}, and RPC_URL of chain 31337 with genesis ${FRESH}`,
  );
  expect(await said(node(1, KNOWN))).toMatch(`RPC_URL of chain 1 with genesis ${KNOWN}`);
  expect(
    await said(() => {
      throw new Error('cuts the connection');
    }),
  ).toBeUndefined();
});

import { setImmediate } from 'node:timers/promises';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import { artifacts, connect, deploy } from '#dev/deploy';
import { RpcNode } from '../support/chain/rpc-node';

/** Mines a transaction just after its receipt was requested, and is slow to send whole blocks. */
class LateNode extends RpcNode {
  private receipts = 0;
  private polls = 0;

  override async ask(method: string, params: unknown[]): Promise<unknown> {
    const wholeBlock = method === 'eth_getBlockByNumber' && params[1] === true;
    while (wholeBlock && this.polls < 3) await setImmediate();
    const result = await super.ask(method, params);
    if (method === 'eth_blockNumber' && this.receipts > 1) this.polls += 1;
    if (method !== 'eth_getTransactionReceipt') return result;
    this.receipts += 1;
    if (this.receipts === 2) await super.ask('evm_mine', []);
    return result;
  }
}

describe('a transaction that is mined while its sender waits', () => {
  let anvil: AnvilNode;
  let node: LateNode;
  beforeAll(async () => {
    anvil = await startAnvil({ extraArgs: ['--no-mining'] });
    node = await new LateNode(anvil.url).start();
  });
  afterAll(async () => {
    await node.stop();
    await anvil.stop();
  });

  it('is found even if no further block comes', async () => {
    const { blockNumber } = await deploy(await connect(node.url), artifacts.TestToken, []);
    expect(blockNumber).toBe(1n);
  });
});

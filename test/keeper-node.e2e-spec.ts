import { STUCK_MS } from '#keeper/sender';
import { anvilRpc } from '#dev/deploy';
import { RpcProxy } from './support/chain-proxy';
import {
  COMPLETED,
  closedDraw,
  keeper,
  later,
  status,
  t,
  transactions,
  withoutMining,
  useKeepers,
} from './support/keeper-bench';

useKeepers();

let proxy: RpcProxy;
beforeAll(async () => (proxy = await new RpcProxy(t.anvil.url).start()));
afterAll(() => proxy?.stop());
beforeEach(async () => {
  proxy.faults = {};
  await closedDraw();
  await t.mine(2);
});

/** The clock goes on from the test's start, by so many times what makes a transaction stuck. */
function waits(times: number): void {
  jest.restoreAllMocks();
  later(times * (STUCK_MS + 1));
}

describe('a node that takes no transaction', () => {
  it('does not make the fee go up without end, and gets it as soon as it takes one', async () => {
    const { round } = keeper({ RPC_URL: proxy.url, KEEPER_BUDGET: '0.003' });
    proxy.faults.refuse = (method) => method === 'eth_sendRawTransaction';
    expect(await round()).toBe('sending');
    for (let i = 1; i <= 30; i++) {
      waits(i);
      expect(await round()).toBe('sending');
    }
    proxy.faults = {};
    waits(31);
    expect(await round()).toBe('sending');
    expect([await transactions(), await status()]).toEqual([1, COMPLETED]);
  });

  it('or that loses it gets it again as it was, when a dearer one is beyond the budget', async () => {
    const { round } = keeper({ RPC_URL: proxy.url, KEEPER_BUDGET: '0.003' });
    await withoutMining(async () => {
      expect(await round()).toBe('sending');
      let times = 0;
      while (times < 30) {
        waits(++times);
        if ((await round()) === 'over_budget') break;
      }
      expect(times).toBeLessThan(30);
      let sent = 0;
      proxy.faults.refuse = (method) => method === 'eth_sendRawTransaction' && ++sent < 0;
      expect(await round()).toBe('over_budget');
      expect(sent).toBe(1);
      await anvilRpc(t.owner, 'anvil_dropAllTransactions');
      expect(await round()).toBe('sending');
      await t.mine(1);
    });
    expect([await transactions(), await status()]).toEqual([1, COMPLETED]);
  });
});

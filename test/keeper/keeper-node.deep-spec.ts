import { parseEther } from 'viem';
import { PoolContracts } from '#ledger/chain/chain.settings';
import { ChainUnavailable } from '#ledger/chain/chain-rpc';
import { STUCK_MS } from '#keeper/sender';
import { anvilRpc } from '#dev/deploy';
import { until } from '../support/app';
import { RpcNode } from '../support/chain/rpc-node';
import {
  COMPLETED,
  addressOf,
  dueDraw,
  endlessDraw,
  keeper,
  key,
  later,
  status,
  t,
  transactions,
  withoutMining,
  useKeepers,
} from '../support/chain/keeper-bench';

useKeepers();

let proxy: RpcNode;
beforeAll(async () => (proxy = await RpcNode.start(t.anvil.url)));
afterAll(() => proxy?.stop());
beforeEach(async () => {
  proxy.faults = {};
  await dueDraw();
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
    await until(async () => (await status()) === COMPLETED);
    expect(await transactions()).toBe(1);
  });

  it('or that loses it gets it again as it was, when a more expensive one is beyond the budget', async () => {
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

describe('several nodes, of which one is behind', () => {
  /** From the call that `begins` on, answers are those that the same questions had first. */
  function behind(begins: () => boolean, methods: RegExp): { sent: number } {
    const told = new Map<string, unknown>();
    const counted = { sent: 0 };
    const ask = proxy.ask.bind(proxy);
    jest.spyOn(proxy, 'ask').mockImplementation(async (method: string, params: unknown[]) => {
      if (method === 'eth_sendRawTransaction') counted.sent++;
      const question = JSON.stringify([method, params]);
      if (methods.test(method) && begins() && told.has(question)) return told.get(question);
      const answer = await ask(method, params);
      if (!told.has(question)) told.set(question, answer);
      return answer;
    });
    return counted;
  }

  it('does not have a call sent twice', async () => {
    const { round, count } = keeper({ RPC_URL: proxy.url });
    let isBehind = false;
    const counted = behind(() => isBehind, /eth_(call|estimateGas)/);
    expect(await round()).toBe('sending');
    isBehind = true;
    for (let i = 0; i < 3; i++) expect(await round()).toBe('idle');
    expect([counted.sent, await transactions(), await status()]).toEqual([1, 1, COMPLETED]);
    expect(await count('keeper_sent_total')).toBe(1);
  });

  it('does not have a nonce used twice', async () => {
    const { POOL_CONTRACTS } = await endlessDraw();
    const { round } = keeper({ RPC_URL: proxy.url, POOL_CONTRACTS });
    let asked = -Infinity;
    // The first two of a round are of the node that knows.
    behind(() => ++asked > 2, /eth_getTransactionCount/);
    expect(await round()).toBe('sending');
    asked = 0;
    expect(await round()).toBe('sending');
    expect([await transactions(), await status()]).toEqual([2, COMPLETED]);
  });

  it('has a restarted keeper wait for a round after what it found is mined', async () => {
    const { round } = keeper({ RPC_URL: proxy.url });
    await withoutMining(async () => {
      await keeper().round();
      expect(await round()).toBe('sending');
      await t.mine(1);
      const counted = behind(() => false, /never/);
      expect(await round()).toBe('sending');
      expect(counted.sent).toBe(0);
      expect(await round()).toBe('idle');
    });
  });
});

describe('a contract whose calls the node does not run', () => {
  const other = '0x00000000000000000000000000000000000000aa';

  it.each(['eth_call', 'eth_estimateGas'])('does not stop the others: %s', async (refused) => {
    const { address, POOL_CONTRACTS } = await endlessDraw();
    const { round } = keeper({ RPC_URL: proxy.url, POOL_CONTRACTS });
    // In words that tell of no revert.
    proxy.faults.refuse = (method, [call]) => method === refused && (call as { to?: string }).to === address;
    expect(await round()).toBe('sending');
    expect(await status()).toBe(COMPLETED);
    await expect(round()).rejects.toThrow(ChainUnavailable);
  });

  it('nor does one that answers nonsense', async () => {
    const POOL_CONTRACTS = new PoolContracts([['lottery', [other, t.pool]]]);
    const { round } = keeper({ RPC_URL: proxy.url, POOL_CONTRACTS });
    proxy.faults.result = (method, result, [call]) =>
      method === 'eth_call' && (call as { to: string }).to === other ? '0x1234' : result;
    expect(await round()).toBe('sending');
    expect(await status()).toBe(COMPLETED);
  });
});

it.each([
  ['eth_maxPriorityFeePerGas', (method: string) => method === 'eth_maxPriorityFeePerGas'],
  ['the tag "pending"', (_: string, params: unknown[]) => params.includes('pending')],
])('a node without %s does for the keeper', async (_, refuse) => {
  proxy.faults.refuse = refuse;
  const { round } = keeper({ RPC_URL: proxy.url });
  expect(await round()).toBe('sending');
  expect(await status()).toBe(COMPLETED);
});

it.each(['0x0', undefined])(
  'a node that says the price %s does not make the keeper spend without end',
  async (price) => {
    const { round } = keeper({ RPC_URL: proxy.url, KEEPER_BUDGET: '0.0003' });
    proxy.faults.result = (method, result) =>
      method === 'eth_getTransactionReceipt' && result ? { ...result, effectiveGasPrice: price } : result;
    let done = 0;
    while ((await round()) === 'sending') {
      expect(++done).toBeLessThan(50);
      await dueDraw();
    }
    expect(await round()).toBe('over_budget');
    const spent = parseEther('1') - (await t.owner.getBalance({ address: addressOf(key) }));
    expect(spent).toBeLessThanOrEqual(4n * parseEther('0.0003'));
  },
);

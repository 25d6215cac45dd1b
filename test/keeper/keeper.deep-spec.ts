import path from 'node:path';
import { type Hex, keccak256, parseEther, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { PoolContracts } from '#ledger/chain/chain.settings';
import { KeeperNode } from '#keeper/node';
import { STUCK_MS } from '#keeper/sender';
import { anvilRpc, connect } from '#dev/deploy';
import { freePort } from '#dev/ports';
import { until } from '../support/app';
import { IndexerProcess } from '../support/chain/chain-bench';
import { HOUR } from '../support/chain/contracts';
import {
  CANCELLED,
  COMPLETED,
  addressOf,
  closedDraw,
  dueDraw,
  endlessDraw,
  fundedKey,
  keeper,
  key,
  later,
  status,
  succeeded,
  t,
  transactions,
  withoutMining,
  useKeepers,
} from '../support/chain/keeper-bench';
import { FROM_SOURCE } from '../support/processes/source';

const GRACE = 7n * 86_400n;

useKeepers();

describe('the keeper', () => {
  it('completes a closed draw as soon as its hash is known, once', async () => {
    const { round, count } = keeper();
    expect(await round()).toBe('idle');
    await closedDraw();
    expect(await round()).toBe('idle');
    await t.mine(2);
    expect(await round()).toBe('sending');
    expect(await status()).toBe(COMPLETED);
    for (let i = 0; i < 3; i++) expect(await round()).toBe('idle');
    expect(await transactions()).toBe(1);
    expect(await count(succeeded)).toBe(1);
    expect(await count('keeper_spent_ether_total')).toBeGreaterThan(0);
  });

  it('lets another block pick where nobody came in time', async () => {
    const { round } = keeper();
    await closedDraw();
    await t.mine(300);
    expect(await round()).toBe('sending');
    expect(await status()).not.toBe(COMPLETED);
    await t.mine(2);
    expect(await round()).toBe('idle');
    later(STUCK_MS + 1);
    expect(await round()).toBe('sending');
    expect(await status()).toBe(COMPLETED);
    expect(await transactions()).toBe(2);
  });

  it('cancels an open draw when its owner is late, and not before, even with the key of the owner', async () => {
    const id = await t.openDraw();
    await t.call(t.alice, 'buyTickets', id, 1n);
    await t.call(t.owner, 'transferOwnership', addressOf(key));
    const owner = privateKeyToAccount(key);
    await anvilRpc(t.owner, 'anvil_impersonateAccount', owner.address);
    const accept = keccak256(toHex('acceptOwnership()')).slice(0, 10);
    await anvilRpc(t.owner, 'eth_sendTransaction', { from: owner.address, to: t.pool, data: accept });
    const { round } = keeper();
    await t.passTime(HOUR + GRACE - 60n);
    expect(await round()).toBe('idle');
    await t.passTime(61n);
    expect(await round()).toBe('sending');
    expect(await status()).toBe(CANCELLED);
  });

  it('passes over contracts that have no draws', async () => {
    const POOL_CONTRACTS = new PoolContracts([['lottery', [t.token, addressOf(key), t.pool]]]);
    await dueDraw();
    expect(await keeper({ POOL_CONTRACTS }).round()).toBe('sending');
    expect(await status()).toBe(COMPLETED);
  });

  it('gives each contract its turn, also beside one that always wants something', async () => {
    const { POOL_CONTRACTS } = await endlessDraw();
    await dueDraw();
    const { round } = keeper({ POOL_CONTRACTS });
    for (let i = 0; i < 2; i++) expect(await round()).toBe('sending');
    expect(await status()).toBe(COMPLETED);
  });
});

describe('several keepers', () => {
  beforeEach(dueDraw);

  it('of one account, or one that was restarted, send one transaction', async () => {
    const [first, second] = [keeper(), keeper()];
    await withoutMining(async () => {
      expect(await first.round()).toBe('sending');
      for (const each of [second, first, second]) expect(await each.round()).toBe('sending');
      await t.mine(1);
      expect([await first.round(), await second.round()]).toEqual(['idle', 'sending']);
      expect(await second.round()).toBe('idle');
    });
    expect([await transactions(), await status()]).toEqual([1, COMPLETED]);
    expect([await first.count('keeper_sent_total'), await second.count('keeper_sent_total')]).toEqual([1, 0]);
  });

  it('of one account that send at the same moment have one transaction mined', async () => {
    const both = [keeper(), keeper()];
    await withoutMining(async () => {
      await Promise.all(both.map(({ round }) => round()));
      await t.mine(1);
    });
    for (const { round } of both) await round();
    expect([await transactions(), await status()]).toEqual([1, COMPLETED]);
  });

  it('of several accounts wait for what the other has sent only until it is stuck', async () => {
    const { round } = keeper({ KEEPER_KEY: await fundedKey(parseEther('1')) });
    await withoutMining(async () => {
      expect(await keeper().round()).toBe('sending');
      for (let i = 0; i < 2; i++) expect(await round()).toBe('idle');
      later(STUCK_MS + 1);
      expect(await round()).toBe('sending');
    });
  });

  it('of several accounts that send at the same moment lose a transaction, and no more', async () => {
    const other = await fundedKey(parseEther('1'));
    const both = [keeper(), keeper({ KEEPER_KEY: other })];
    const send = Reflect.get(KeeperNode.prototype, 'send');
    let arrived = 0;
    const sending = jest.spyOn(KeeperNode.prototype, 'send').mockImplementation(async function (
      this: KeeperNode,
      signed,
    ) {
      arrived++;
      await until(() => arrived === both.length);
      return send.call(this, signed);
    });
    await withoutMining(async () => {
      expect(await Promise.all(both.map(({ round }) => round()))).toEqual(['sending', 'sending']);
      await t.mine(1);
    });
    sending.mockRestore();
    for (let i = 0; i < 3; i++) for (const { round } of both) expect(await round()).toBe('idle');
    expect([await transactions(), await transactions(other), await status()]).toEqual([1, 1, COMPLETED]);
    const reverted = succeeded.replace('succeeded', 'reverted');
    const outcomes = both.map(async ({ count }) => [await count(succeeded), await count(reverted)]);
    expect((await Promise.all(outcomes)).sort()).toEqual([
      [0, 1],
      [1, 0],
    ]);
  });
});

describe('a transaction that is stuck', () => {
  const waitingFees = async (): Promise<bigint[]> => {
    const { pending } = (await anvilRpc(t.owner, 'txpool_content')) as {
      pending: Record<string, Record<string, { maxFeePerGas: Hex }>>;
    };
    const found = Object.entries(pending).find(([who]) => who.toLowerCase() === addressOf(key).toLowerCase());
    return Object.values(found?.[1] ?? {}).map(({ maxFeePerGas }) => BigInt(maxFeePerGas));
  };

  beforeEach(dueDraw);

  it.each([
    ['by the process that sent it', true],
    ['by the one after a restart', false],
  ])('is replaced by one that pays more, %s', async (_, isSame) => {
    const first = keeper();
    await withoutMining(async () => {
      await first.round();
      const [fee] = await waitingFees();
      const next = isSame ? first : keeper();
      expect(await next.round()).toBe('sending');
      expect(await waitingFees()).toEqual([fee]);
      later(STUCK_MS + 1);
      expect(await next.round()).toBe('sending');
      const fees = await waitingFees();
      expect(fees).toHaveLength(1);
      expect(fees[0]).toBeGreaterThan((fee * 11n) / 10n);
      await t.mine(1);
      expect(await next.round()).toBe('idle');
      expect(await next.count(succeeded)).toBe(1);
    });
    expect([await transactions(), await status()]).toEqual([1, COMPLETED]);
  });

  it('that the node has lost is sent again', async () => {
    const { round } = keeper();
    await withoutMining(async () => {
      await round();
      await anvilRpc(t.owner, 'anvil_dropAllTransactions');
      later(STUCK_MS + 1);
      expect(await round()).toBe('sending');
      await t.mine(1);
    });
    expect([await transactions(), await status()]).toEqual([1, COMPLETED]);
  });
});

describe('what it spends', () => {
  beforeEach(dueDraw);

  it('stays within the budget of a day', async () => {
    const poor = keeper({ KEEPER_BUDGET: '0.0000001' });
    expect(await poor.round()).toBe('over_budget');
    expect(await transactions()).toBe(0);
    expect(await keeper({ KEEPER_BUDGET: '1' }).round()).toBe('sending');
  });

  it('counts what was spent before, for 24 hours', async () => {
    const { round } = keeper({ KEEPER_BUDGET: '0.0003' });
    let done = 0;
    while ((await round()) === 'sending') {
      done++;
      await dueDraw();
      expect(done).toBeLessThan(50);
    }
    expect(done).toBeGreaterThan(0);
    expect(await round()).toBe('over_budget');
    const spent = parseEther('1') - (await t.owner.getBalance({ address: addressOf(key) }));
    expect(spent).toBeLessThanOrEqual(parseEther('0.0003'));
    later(86_000_000);
    expect(await round()).toBe('over_budget');
    jest.restoreAllMocks();
    later(86_400_001);
    expect(await round()).toBe('sending');
  });

  it('counts in full what no receipt tells of', async () => {
    const { round, count } = keeper({ KEEPER_BUDGET: '0.0003' });
    await withoutMining(async () => {
      expect(await round()).toBe('sending');
      await anvilRpc(t.owner, 'anvil_dropAllTransactions');
      const self = await connect(t.anvil.url, privateKeyToAccount(key));
      await self.sendTransaction({ to: addressOf(key) });
      await t.mine(1);
      expect(await round()).toBe('sending');
      later(STUCK_MS + 1);
      for (let i = 0; (await round()) === 'sending' && i < 50; i++) {
        await anvilRpc(t.owner, 'anvil_dropAllTransactions');
        await self.sendTransaction({ to: addressOf(key) });
        await t.mine(1);
        jest.restoreAllMocks();
        later((i + 2) * (STUCK_MS + 1));
      }
    });
    expect(await round()).toBe('over_budget');
    expect(await count(succeeded.replace('succeeded', 'lost'))).toBeGreaterThan(0);
    expect(await status()).not.toBe(COMPLETED);
  });

  it('is nothing when the account has too little', async () => {
    expect(await keeper({ KEEPER_KEY: await fundedKey(1n) }).round()).toBe('without_funds');
  });
});

describe('the process', () => {
  const started: IndexerProcess[] = [];
  afterEach(() => Promise.all(started.map((each) => each.end())));

  function start(settings: NodeJS.ProcessEnv): IndexerProcess {
    const entry = path.join(__dirname, '../../src/keeper.ts');
    const contracts = ['individual', 'cooperative', 'lottery', 'rotating'].map((type) => `${type}=${t.pool}`);
    started.push(
      new IndexerProcess([...FROM_SOURCE, entry], {
        HOST: '127.0.0.1',
        RPC_URL: t.anvil.url,
        KEEPER_KEY: key,
        POOL_CONTRACTS: contracts.join(),
        ...settings,
      }),
    );
    return started.at(-1)!;
  }

  it('does what is due, tells of it, and stops at a signal, with neither database nor JWT secret', async () => {
    const port = await freePort();
    await dueDraw();
    const keeping = start({ KEEPER_PORT: `${port}`, METRICS_TOKEN: 'a-token-of-16-characters' });
    await until(async () => (await status()) === COMPLETED);
    const get = (place: string, authorization = ''): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}${place}`, { headers: { authorization } });
    const health = await get('/health');
    expect([health.status, await health.json()]).toEqual([
      200,
      { status: expect.stringMatching(/^(idle|sending)$/) as unknown, account: addressOf(key) },
    ]);
    expect([(await get('/health/live')).status, (await get('/metrics')).status]).toEqual([200, 401]);
    const metrics = await (await get('/metrics', 'Bearer a-token-of-16-characters')).text();
    expect(metrics).toMatch(/^keeper_sent_total\{kind="complete_draw"\} 1$/m);
    await keeping.end('SIGTERM');
    expect(keeping.code).toBe(0);
    expect(keeping.output).toContain(`started with account ${addressOf(key)}`);
    expect(keeping.output).toContain('complete_draw, draw 1 of');
    expect(keeping.output.toLowerCase()).not.toContain(key.slice(2));
  });

  it('ends at once on the wrong chain, and without a key', async () => {
    const [wrong, without] = [start({ CHAIN_ID: '5', KEEPER_PORT: '0' }), start({ KEEPER_KEY: '' })];
    await Promise.all([wrong.ended, without.ended]);
    expect([wrong.code, without.code]).toEqual([1, 1]);
    expect(wrong.output).toMatch(/^the node is of chain 31337, and CHAIN_ID is 5$/m);
    expect(without.output).toContain('KEEPER_KEY is required');
  });
});

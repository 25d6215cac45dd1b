import { Logger } from '@nestjs/common';
import { Client } from 'pg';
import { Registry } from 'prom-client';
import { type Hex, decodeFunctionData, encodeFunctionResult, parseAbi, toFunctionSelector } from 'viem';
import { LEDGER_HOLDINGS } from '#verify/checks/chain.sql';
import { ContinuousVerification } from '#verify/continuous';
import { AgreedChain } from '#indexer/agreement/agreed-chain';
import { until } from '../support/app';
import { PaperChain, Written } from '../support/chain/paper-chain';
import { type Answers, Refused, RpcNode } from '../support/chain/rpc-node';
import { urlAs, connectTo } from '../support/database';

const POOL = '0a000000-0000-4000-8000-000000000001';
const COMPACT = POOL.replaceAll('-', '');
const ACCOUNTS = 120;
const MULTICALL = '0xca11bde05977b3631167028862be2a173976ca11';
const abi = parseAbi([
  'function aggregate3((address target, bool allowFailure, bytes callData)[]) view returns ((bool success, bytes returnData)[])',
]);
const TOTAL = toFunctionSelector('function totalOf(bytes16)');
const BALANCE = toFunctionSelector('function balanceOf(bytes16,address)');
const SEQ = toFunctionSelector('function seq()');

const account = (i: number): string => `0x${i.toString(16).padStart(40, '0')}`;
const word = (value: number): Hex => `0x${value.toString(16).padStart(64, '0')}`;

describe('continuous verification', () => {
  const chain = new PaperChain();
  const written = new Written();
  const nodes: RpcNode[] = [];
  const logged = { errors: [] as string[], warnings: [] as string[] };
  let registry: Registry;
  let stop: AbortController;

  beforeAll(async () => {
    await written.start(chain);
    await written.addPool(POOL);
    for (let i = 1; i <= ACCOUNTS; i += 1)
      chain.add([{ kind: 'Deposited', poolId: COMPACT, account: account(i), amount: '10' }], 1);
    await written.apply(chain);
    await written.client.query('ANALYZE');
  });
  afterAll(() => written.stop());
  beforeEach(async () => {
    stop = new AbortController();
    await written.sql('DELETE FROM verify_walks');
    jest.spyOn(Logger.prototype, 'error').mockImplementation((line: string) => void logged.errors.push(line));
    jest
      .spyOn(Logger.prototype, 'warn')
      .mockImplementation((line: string) => void logged.warnings.push(line));
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    logged.errors.length = logged.warnings.length = 0;
    for (const node of nodes.splice(0)) await node.stop();
  });

  /** What the contract holds, by account. */
  const view = (data: Hex, balance = 10): Hex => {
    if (data.startsWith(SEQ)) return word(ACCOUNTS);
    if (data.startsWith(TOTAL)) return word(10 * ACCOUNTS);
    return word(data.startsWith(BALANCE) ? balance : 0);
  };
  const answers =
    ({ hasMulticall = false, balance = (): number => 10 } = {}): Answers =>
    (method, [call]) => {
      if (method === 'eth_getCode') return hasMulticall ? '0x6080' : '0x';
      if (method === 'eth_getBlockByNumber') return { ...chain.blocks[Number(call)], events: undefined };
      const { to, data } = call as { to: string; data: Hex };
      if (to.toLowerCase() !== MULTICALL) return view(data, balance());
      if (!hasMulticall) return '0x';
      const views = decodeFunctionData({ abi, data }).args[0];
      const result = views.map(({ callData }) => ({ success: true, returnData: view(callData, balance()) }));
      return encodeFunctionResult({ abi, functionName: 'aggregate3', result });
    };
  async function node(answer: Answers = answers()): Promise<RpcNode> {
    const started = await RpcNode.start(answer);
    nodes.push(started);
    return started;
  }
  /** As a leader after its start. */
  function verification(agree = 1, mayVerify = () => true): ContinuousVerification {
    registry = new Registry();
    const databaseUrl = urlAs(written.databaseUrl, 'indexer');
    return new ContinuousVerification(
      { databaseUrl, perRound: 20, roundMs: 5, mayVerify },
      new AgreedChain(
        nodes.map(({ endpoint }) => endpoint),
        agree,
      ),
      registry,
      stop.signal,
    );
  }
  async function metric(name: string): Promise<Record<string, number>> {
    const { values } = await registry.getSingleMetric(name)!.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.kind, value]));
  }
  const differences = (): Promise<Record<string, number>> => metric('indexer_verify_differences');
  /** Whether a check has come to its end. */
  const covered = async (name = 'chain'): Promise<boolean> =>
    (await written.sql('SELECT FROM verify_walks WHERE name = $1 AND covered_at IS NOT NULL', [name]))
      .length > 0;
  async function corrupt(statement: string): Promise<void> {
    const client = await connectTo(written.databaseUrl);
    await client.query(`SET session_replication_role = replica; ${statement}`);
    await client.end();
  }

  it('goes over a crowded pool by samples, at a hundred calls a round, and goes on where it ended', async () => {
    const one = await node();
    const asked = (): Set<string> =>
      new Set(
        one.calls
          .filter(({ method }) => method === 'eth_call')
          .map(({ params }) => (params[0] as { data: string }).data)
          .filter((data) => !data.startsWith(SEQ)),
      );
    let rounds = 0;
    for (; !(await covered()); rounds += 1) {
      expect(rounds).toBeLessThan(12);
      const before = one.calls.length;
      // Each round by another process.
      await verification().round();
      expect(one.calls.length - before).toBeLessThanOrEqual(100);
    }
    // Of each account its balance and what it can claim, and the pool's total.
    expect(asked().size).toBe(2 * ACCOUNTS + 1);
    expect(one.calls.length).toBeLessThan(1.5 * asked().size);
    expect([await differences(), logged]).toEqual([{}, { errors: [], warnings: [] }]);
  });

  it('asks for all values with a few calls where the chain has Multicall3', async () => {
    const one = await node(answers({ hasMulticall: true }));
    await verification().round();
    expect(await covered()).toBe(true);
    expect(one.calls.length).toBeLessThanOrEqual(40);
    expect([await differences(), logged]).toEqual([{}, { errors: [], warnings: [] }]);
  });

  it('believes most endpoints: one that lies raises no alarm, and hides nothing', async () => {
    const liar = { hasMulticall: true, balance: () => 11 };
    nodes.push(await RpcNode.start(answers(liar)));
    await node(answers({ hasMulticall: true }));
    // Of two nobody knows which one lies: nothing is concluded, and nothing counts as covered.
    await verification().round();
    expect([await differences(), logged.errors]).toEqual([{}, []]);
    expect(logged.warnings).toEqual(['chain could not be verified: the endpoints do not agree']);
    expect(await covered()).toBe(false);
    // It does not keep the others from being compared.
    expect(await covered('contracts')).toBe(true);
    await node(answers({ hasMulticall: true }));
    await verification().round();
    expect([await differences(), logged.errors, await covered()]).toEqual([{}, [], true]);
    // What the ledger has wrong, the liar says too.
    await corrupt(`UPDATE transactions SET amount = 11 WHERE account = '${account(7)}'`);
    try {
      await verification().round();
      expect(await differences()).toMatchObject({ 'chain.balance': 1 });
      await verification(3).round();
      expect(await differences()).not.toHaveProperty('chain.balance');
    } finally {
      await corrupt(`UPDATE transactions SET amount = 10 WHERE account = '${account(7)}'`);
    }
  });

  it('reports a value that differs once, asks for it again in each round, and forgets it when it is repaired', async () => {
    await node();
    const running = verification();
    await corrupt(`UPDATE transactions SET amount = 11 WHERE account = '${account(3)}'`);
    for (let i = 0; i < 3; i += 1) {
      const before = nodes[0].calls.length;
      await running.round();
      expect(nodes[0].calls.length - before).toBeLessThanOrEqual(100);
    }
    expect(await differences()).toMatchObject({ 'chain.balance': 1, 'chain.total': 1 });
    expect(logged.errors.filter((line) => line.includes('chain.balance'))).toEqual([
      `DIFFERENCE in chain.balance of ${POOL} ${account(3)}: is 11, should be 10`,
    ]);
    await corrupt(`UPDATE transactions SET amount = 10 WHERE account = '${account(3)}'`);
    await running.round();
    expect(await differences()).toEqual({});
  });

  it('asks again for each value that differs, also while those before it still differ', async () => {
    await node();
    const running = verification();
    const set = (amount: number, from: number): Promise<void> =>
      corrupt(`UPDATE transactions SET amount = ${amount}
        WHERE account BETWEEN '${account(from)}' AND '${account(9)}'`);
    await set(11, 1);
    try {
      await running.round();
      expect(await differences()).toMatchObject({ 'chain.balance': 9 });
      await set(10, 8);
      // The pass under way has left them behind, and its end is many rounds away.
      for (let i = 0; i < 3; i += 1) await running.round();
      expect(await differences()).toMatchObject({ 'chain.balance': 7 });
    } finally {
      await set(10, 1);
    }
  });

  it('is of the process that leads: another one forgets what it found, and finds it again when it leads', async () => {
    await node();
    let leads = true;
    const found = (count: number): Promise<void> =>
      until(async () => ((await differences())['chain.balance'] ?? 0) === count);
    await corrupt(`UPDATE transactions SET amount = 11 WHERE account = '${account(3)}'`);
    const running = verification(1, () => leads).run();
    try {
      for (const isNow of [true, false, true]) {
        leads = isNow;
        await found(Number(isNow));
      }
    } finally {
      stop.abort();
      await running;
      await corrupt(`UPDATE transactions SET amount = 10 WHERE account = '${account(3)}'`);
    }
  });

  it('loads of a crowded pool no more accounts than it asks for', async () => {
    await node();
    const seen = jest.spyOn(Client.prototype, 'query');
    await corrupt(`UPDATE transactions SET amount = 11 WHERE account = '${account(3)}'`);
    try {
      const running = verification();
      for (let i = 0; i < 2; i += 1) await running.round();
      expect(await differences()).toMatchObject({ 'chain.balance': 1 });
    } finally {
      await corrupt(`UPDATE transactions SET amount = 10 WHERE account = '${account(3)}'`);
    }
    const results = seen.mock.calls.flatMap(([text], i) =>
      (text as unknown) === LEDGER_HOLDINGS ? [seen.mock.results[i].value as unknown] : [],
    );
    const loaded = (await Promise.all(results)).map(
      (result) =>
        new Set(JSON.stringify((result as { rows: unknown[] }).rows).match(/"0x0{20}[0-9a-f]{20}"/g)).size,
    );
    expect(loaded.length).toBeGreaterThan(4);
    // The part of a chain without Multicall3.
    expect(Math.max(...loaded)).toBeLessThanOrEqual(25);
  });

  it('logs why it concludes nothing while a node lags, although the calls of a round do not suffice for all tries', async () => {
    const lagging: Answers = (method, params) =>
      method === 'eth_getBlockByNumber' ? null : answers()(method, params);
    const one = await node(lagging);
    await verification().round();
    expect(one.calls.length).toBeLessThanOrEqual(100);
    expect(logged).toEqual({
      errors: [],
      warnings: [
        `chain could not be verified: the node has no block ${chain.head.number}, where the cursor stands`,
      ],
    });
  });

  it('leaves out what too few endpoints answer, and goes on', async () => {
    await node();
    await node((method, params) =>
      method === 'eth_call' ? new Refused('missing trie node') : answers()(method, params),
    );
    const running = verification();
    await until(async () => {
      await running.round();
      return covered();
    });
    expect([await differences(), logged.errors]).toEqual([{}, []]);
    expect(logged.warnings.filter((line) => !line.endsWith(': too few endpoints report it'))).toEqual([]);
    expect(logged.warnings).not.toEqual([]);
  });

  it('goes on though parts always fail', async () => {
    await node();
    const privileges = async (change: string): Promise<void> => {
      for (const table of ['lottery_draws', 'set_aside_counts'])
        await corrupt(`${change} ${table} ${change.startsWith('GRANT') ? 'TO' : 'FROM'} savings_indexer`);
    };
    await privileges('REVOKE SELECT ON');
    await corrupt('UPDATE pools SET balance = balance + 1; UPDATE pool_totals SET deposited = deposited + 1');
    try {
      const running = verification();
      const isFound = async (): Promise<boolean> => {
        const found = await differences();
        return 'pools.balance' in found && 'pool_totals.deposited' in found;
      };
      await running.round();
      for (let i = 0; i < 50 && !(await isFound()); i += 1) await running.round();
      expect(await isFound()).toBe(true);
      const failed = [
        'draws could not be verified: permission',
        'set aside could not be verified: permission',
      ];
      for (const line of failed) expect(logged.warnings).toContainEqual(expect.stringContaining(line));
    } finally {
      await privileges('GRANT SELECT ON');
      await corrupt(
        'UPDATE pools SET balance = balance - 1; UPDATE pool_totals SET deposited = deposited - 1',
      );
    }
  });

  it('covers what the command covers', async () => {
    await node(() => new Refused('not today'));
    const running = verification();
    // A round ends when its time is over, so nobody knows how many it takes.
    const untilFound = (kinds: string[]): Promise<void> =>
      until(async () => {
        await running.round();
        const found = await differences();
        return kinds.every((kind) => kind in found);
      });
    await corrupt(`UPDATE positions SET balance = 5 WHERE address = '${account(9)}';
      UPDATE pool_totals SET deposited = deposited + 1;
      INSERT INTO set_aside_counts VALUES ('FAILED', 4);
      INSERT INTO lottery_draws (contract, draw_id, status, ticket_price, prize_pool, participants, total_tickets, draw_time)
        VALUES ('${account(5)}', 1, 'ACTIVE', 1, 0, 0, 0, now());
      UPDATE account_days SET deposits = 5 WHERE address = '${account(4)}';
      UPDATE pools SET balance = balance + 1;
      UPDATE chain_blocks SET parent_hash = 'other' WHERE number = 70;
      INSERT INTO pool_names (contract, name, pool_id, stand_in, block_number, log_index)
        VALUES ('${account(5)}', '1', '${POOL}', '${POOL}', 60, 0);
      DELETE FROM outbox`);
    await untilFound([
      ...['chain_blocks.hash', 'pool_names.stand_in', 'outbox.items'],
      ...['positions.balance', 'pool_totals.deposited', 'set_aside_counts.count', 'lottery_draws.status'],
      ...['account_days.deposits', 'pools.balance'],
    ]);
    await corrupt('DELETE FROM chain_events WHERE seq = 60');
    await untilFound(['chain_events.seq']);
  });
});

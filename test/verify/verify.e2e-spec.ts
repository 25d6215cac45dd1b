import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toFunctionSelector } from 'viem';
import { CHECKS, nextBatch } from '#verify/checks';
import { OtherBlock } from '#verify/checks/chain';
import { connect } from '#verify/checks/connection';
import { Findings, type VerifyReport, exitCode } from '#verify/checks/findings';
import { Look } from '#verify/checks/look';
import { type AskedChain, type Call, hex } from '#verify/contract/holdings';
import { eventsAbi } from '#verify/contract/events.abi';
import { contractAbi } from '#ledger/chain/contract.abi';
import { circleAbi } from '#ledger/chain/rotating.abi';
import { SHARE_ROWS } from '#verify/checks/shares';
import { SECOND } from '#verify/checks/share-model';
import { endpointsOf } from '#indexer/verification';
import type { AgreedChain } from '#indexer/agreement/agreed-chain';
import { nodeOf } from '../support/chain/chain-node';
import { liars } from '../support/chain/liars';
import { type Faults, RpcNode } from '../support/chain/rpc-node';
import { CORRUPTIONS, DERIVED_TABLES, EXTRA_ROWS, isGiven, rounds } from '../support/verify/verify-cases';
import { GENESIS, LOTTERY, POOLS_CONTRACT } from '../support/chain/paper-chain';
import { VerifyScene, verify } from '../support/verify/verify-scene';
import { planOf, rowsRead } from '../support/plans';

/** `verify-columns` in the deep suite corrupts every column of every table. Here is one of each kind. */
const scene = new VerifyScene();
beforeAll(() => scene.start());
afterAll(() => scene.stop());
afterEach(() => scene.putBack());

/** The tables and columns that `verify` leaves out, with the reasons. */
const LEFT_OUT = readFileSync(join(__dirname, '../../docs/verify-columns.md'), 'utf8')
  .split('## What is left out')[1]
  .split('\n')
  .flatMap((line) => /^\| `(\w+)`(?:: ((?:`\w+`(?:, )?)+))? +\| \S.* \|$/.exec(line) ?? [])
  .flatMap((_, i, parts) => (i % 3 === 0 ? [[parts[i + 1], parts[i + 2]]] : []))
  .flatMap(([table, columns]) =>
    columns ? columns.split(', ').map((column) => `${table}.${column.replaceAll('`', '')}`) : [table],
  );

it('has a corruption of every column of the ledger, or the document says why not', async () => {
  const corrupted = CORRUPTIONS.map(({ column }) => column);
  const columns = await scene.columns();
  const ofLedger = columns.filter(({ isAsked }) => !isAsked).map(({ table, column }) => `${table}.${column}`);
  const explained = [...LEFT_OUT, ...corrupted];
  expect(
    ofLedger.filter((name) => ![name, name.split('.')[0]].some((each) => explained.includes(each))),
  ).toEqual([]);
  expect(LEFT_OUT.filter((name) => corrupted.includes(name))).toEqual([]);
  const names = columns.flatMap(({ table, column }) => [table, `${table}.${column}`]);
  expect(explained.filter((name) => !names.includes(name))).toEqual([]);
});

it('knows the events of the contracts', () => {
  expect(eventsAbi).toEqual([...contractAbi, ...circleAbi].filter(({ type }) => type === 'event'));
});

it('finds and writes nothing where nothing is wrong', async () => {
  const report = await scene.verify(true, scene.node);
  expect(report).toMatchObject({ complete: true, listed: [], repaired: 0 });
  expect(report.checked).toMatchObject({ pools: 4, events: 41, addresses: 2 });
  expect(exitCode(report)).toBe(0);
  expect(await scene.changed()).toEqual([]);
});

describe('events of a block whose logs do not fit into one answer', () => {
  /** Refuses logs of several blocks, and those of the first block with more than two; with or without receipts. */
  const capped = (hasReceipts: boolean): AskedChain => {
    const answer = nodeOf(() => scene.chain);
    const receiptOf = (hash: string): unknown => {
      const { blockNumber } = scene.chain.blocks
        .flatMap(({ events }) => events)
        .find(({ txHash }) => txHash === hash)!;
      const receipts = answer('eth_getBlockReceipts', [hex(blockNumber)]) as { transactionHash: string }[];
      return receipts.find(({ transactionHash }) => transactionHash === hash);
    };
    return {
      ask: (calls) => {
        const isMany = calls.filter(([method]) => method === 'eth_getLogs').length > 1;
        return Promise.resolve(
          calls.map(([method, params]) => {
            if (method === 'eth_getTransactionReceipt')
              return hasReceipts ? receiptOf(params[0] as string) : null;
            const found = answer(method, params);
            const isLarge = Array.isArray(found) && found.length > 2;
            return method === 'eth_getLogs' && (isMany || isLarge) ? new Error('too many results') : found;
          }),
        );
      },
    };
  };

  it('are compared by the receipts of their transactions', async () => {
    const report = await scene.verify(false, capped(true));
    expect(report).toMatchObject({ complete: true, listed: [] });
    const { kind, statement } = CORRUPTIONS.find(({ column }) => column === 'chain_events.amount')!;
    await scene.corrupt(statement);
    const { listed } = await scene.verify(false, capped(true));
    expect(listed.map((found) => found.kind)).toContainEqual(expect.stringMatching(kind));
  });

  it('are left out and named if there are no receipts, and the others are compared', async () => {
    const { number } = scene.chain.blocks.find(({ events }) => events.length > 2)!;
    await scene.corrupt(`UPDATE chain_events SET tx_hash = '0x1' WHERE amount = 33`);
    const { notChecked, listed } = await scene.verify(false, capped(false));
    expect(notChecked).toContain(`events of block ${number}: the node sends no receipt`);
    expect(listed.map(({ kind }) => kind)).toContain('chain_events.tx_hash');
  });
});

it('names the topics of unread logs, and contracts whose events only an adapter knows', async () => {
  await scene.corrupt(
    `UPDATE chain_contracts SET unread_topics = '{0x77}', adapter = 'class Clubs' WHERE type = 'lottery'`,
  );
  const { completeness } = await scene.verify(false, scene.node);
  expect(completeness).toEqual({
    [POOLS_CONTRACT]: 'events complete by their numbers',
    [LOTTERY]:
      'events complete by their numbers; only class Clubs knows their meaning, which is not compared; ' +
      'its draws are compared with stored events alone; ' +
      'no method reads its logs with the topics 0x77',
  });
});

it.each([7, 41, 42])('goes over all 41 events, %i at once, and asks no more after fewer', async (limit) => {
  const events = CHECKS.find(({ name }) => name === 'events')!;
  const client = await connect(scene.written.operatorUrl, false, 10_000);
  try {
    const findings = new Findings(10);
    const look = new Look(client, findings);
    let batches = 0;
    for (let at: string | null = ' 0'; at !== null; batches += 1)
      at = (await nextBatch(events, look, at, limit)).last;
    expect(findings.report()).toMatchObject({ checked: { events: 41 }, listed: [] });
    expect(batches).toBe(Math.floor(41 / limit) + 1);
  } finally {
    await client.end();
  }
});

describe('what is derived', () => {
  const [, , columns] = rounds(CORRUPTIONS.filter((each) => !isGiven(each)));
  const tablesOf = (kinds: string[]): string[] =>
    [...new Set(kinds.map((kind) => kind.split('.')[0]))].sort();

  it('is named by its columns if these are wrong, and repaired', async () => {
    expect(columns.length).toBeGreaterThan(10);
    const kinds = await scene.repair(columns.map(({ statement }) => statement));
    const missed = columns.filter(({ kind }) => !kinds.some((found) => new RegExp(kind).test(found)));
    expect(missed.map(({ column }) => column)).toEqual([]);
  });

  it('is named once if a circle has a pool of others, and repaired', async () => {
    const kinds = await scene.repair([
      `UPDATE circles SET pool_id = '${scene.pool}' WHERE pool_id = '${scene.circles[0]}'`,
    ]);
    expect(kinds).toEqual(['circles.pool_id']);
  });

  it('is named by its table if all rows are gone, and repaired', async () => {
    const kinds = await scene.repair(DERIVED_TABLES.map((table) => `DELETE FROM ${table}`));
    expect(tablesOf(kinds)).toEqual([...DERIVED_TABLES].sort());
  });

  it('is named by its table if there is a row that nothing explains, and repaired', async () => {
    const kinds = await scene.repair(EXTRA_ROWS);
    expect(tablesOf(kinds)).toEqual([...DERIVED_TABLES].sort());
  });
});

it.each(
  ['chain_events.amount', 'chain_events.seq', 'chain_blocks.hash']
    .concat(['transactions.amount', 'transactions.owner_id', 'yield_accruals.amount', 'users.address'])
    .map((column) => CORRUPTIONS.find((each) => each.column === column)!),
)('names $column, and repairs nothing unasked', async ({ kind, statement }) => {
  await scene.corrupt(statement);
  const report = await scene.verify(false, scene.node);
  expect(report.listed.map((found) => found.kind)).toContainEqual(expect.stringMatching(kind));
  expect([exitCode(report), report.repaired]).toEqual([1, 0]);
});

it.each([
  ['UPDATE transactions SET amount = 69 WHERE amount = 70', ['chain.balance', 'chain.total']],
  ['UPDATE positions SET owed = owed + 1', ['chain.claimable']],
])(
  'finds by the contract what differs together with all that is derived of it: %s',
  async (statement, kinds) => {
    await scene.corrupt(statement);
    const { differences } = await scene.verify(false, scene.node);
    expect(Object.keys(differences)).toEqual(expect.arrayContaining(kinds));
  },
);

describe('if the first of three endpoints lies', () => {
  const nodes: RpcNode[] = [];
  beforeAll(async () => {
    while (nodes.length < 3) nodes.push(await RpcNode.start(nodeOf(() => scene.chain)));
  });
  afterAll(() => Promise.all(nodes.map((node) => node.stop())));
  afterEach(() => nodes.forEach((node) => (node.faults = {})));
  const chainOf = (some: RpcNode[]): AgreedChain =>
    endpointsOf({ RPC_URL: some.map(({ url }) => url).join(), RPC_AGREE: 1, RPC_TIMEOUT: 60 });
  const asking = (some: RpcNode[]): Promise<VerifyReport> => scene.verify(false, chainOf(some));

  it.each<[string, Faults]>([
    ['views', liars.views()],
    ['times', liars.times(100)],
    ['amounts', liars.amounts()],
  ])('about %s, the two others are believed; without the third endpoint none is', async (_, faults) => {
    nodes[0].faults = faults;
    const timeouts = jest.spyOn(AbortSignal, 'timeout');
    expect(await asking(nodes)).toMatchObject({ complete: true, listed: [] });
    expect([...new Set(timeouts.mock.calls.flat())]).toEqual([60_000]);
    const two = await asking(nodes.slice(0, 2));
    expect(two).toMatchObject({ listed: [], notChecked: ['chain: the endpoints do not agree'] });
  });

  it.each<[string, Faults]>([
    ['repeated logs', { logs: (logs) => [...logs, ...logs] }],
    [
      'padded numbers',
      { logs: (logs) => logs.map((log) => ({ ...log, logIndex: `0x0${log.logIndex.slice(2)}` })) },
    ],
    [
      'logs of others',
      { logs: (logs) => [...logs.map((log) => ({ ...log, address: `0x${'9'.repeat(40)}` })), ...logs] },
    ],
    [
      'logs that a reorganisation removed',
      { logs: (logs) => [...logs.map((log) => ({ ...log, data: '0x', removed: true })), ...logs] },
    ],
    [
      'hashes in capitals',
      {
        result: (method, found) =>
          method === 'eth_getBlockByNumber' && found
            ? { ...found, hash: `0x${(found as { hash: string }).hash.slice(2).toUpperCase()}` }
            : found,
      },
    ],
  ])('only in how it answers (%s), two endpoints agree', async (_, faults) => {
    nodes[0].faults = faults;
    const { complete, differences } = await asking(nodes.slice(0, 2));
    expect([complete, differences]).toEqual([true, {}]);
  });

  it('about its chain, or is unavailable, the others are asked', async () => {
    for (const faults of [liars.branch(1), { http: () => 'drop' }] satisfies Faults[]) {
      nodes[0].faults = faults;
      expect(await asking(nodes.slice(0, 2))).toMatchObject({ complete: true, listed: [] });
    }
  });

  it('about views, it is not believed while the others lack the block', async () => {
    nodes[0].faults = liars.views();
    for (const node of nodes.slice(1)) node.faults = { behind: () => 1 };
    const { number, hash } = scene.chain.head;
    const call: Call = [
      'eth_call',
      [{ to: LOTTERY, data: toFunctionSelector('function seq()') }, hex(number)],
    ];
    const asked = chainOf(nodes).ask([call], { cursorNumber: `${number}`, cursorHash: hash });
    await expect(asked).rejects.toThrow(OtherBlock);
  });

  it('about the unit of times, and is the only one, nothing is compared with it', async () => {
    nodes[0].faults = liars.times(GENESIS * 1000);
    const { differences, notChecked } = await asking(nodes.slice(0, 1));
    expect([differences, notChecked]).toEqual([{}, [expect.stringContaining('a unit other than seconds')]]);
  });

  it('about a value that is also wrong in the ledger, the difference is found', async () => {
    nodes[0].faults = liars.times(100);
    await scene.corrupt(`UPDATE chain_blocks SET time = time + interval '100 seconds' WHERE number > 0`);
    const { listed } = await asking(nodes);
    const [kind, wanted] = ['chain_blocks.time', `${scene.chain.head.time}`];
    expect(listed).toContainEqual({
      kind,
      id: `${scene.chain.head.number}`,
      found: `${Number(wanted) + 100}`,
      wanted,
      repaired: false,
    });
  });
});

it('leaves to a person pools that are cancelled and not, or cancelled and paid', async () => {
  const paid = `SELECT pool_id AS id FROM chain_events WHERE outcome = 'UNKNOWN_POOL' AND pool_id IS NOT NULL LIMIT 1`;
  const [{ id }] = await scene.sql<{ id: string }>(paid);
  await scene.corrupt(`UPDATE cancelled_pools SET id = '${id}';
    INSERT INTO cancelled_pools SELECT (jsonb_populate_record(c, '{"id": "${scene.pool}"}')).* FROM cancelled_pools c`);
  const { listed } = await scene.verify(true);
  const [kind, found, repaired] = ['cancelled_pools.state', 'cancelled', false];
  expect(listed).toEqual(
    expect.arrayContaining([
      { kind, id: scene.pool, found, wanted: 'not cancelled', repaired },
      { kind, id, found, wanted: 'paid', repaired },
    ]),
  );
  expect(listed).toHaveLength(2);
});

it('reports which row differs, its value and the right one, counts all and lists the first ones', async () => {
  await scene.corrupt(
    `UPDATE pools SET balance = 12, claimed_yield = 1, apr_bps = 1 WHERE id = '${scene.pool}'`,
  );
  const few = await scene.verify(false, undefined, 2);
  expect(few.differences).toEqual({ 'pools.apr_bps': 1, 'pools.balance': 1, 'pools.claimed_yield': 1 });
  expect(few.listed).toHaveLength(2);
  const { listed } = await scene.verify(true);
  expect(listed).toContainEqual({
    ...{ kind: 'pools.balance', id: scene.pool, found: '12', wanted: '1410', repaired: true },
  });
});

it('lets one process at a time repair', async () => {
  await scene.sql('SELECT pg_advisory_lock(4361002)');
  const report = await scene.verify(true).finally(() => scene.sql('SELECT pg_advisory_unlock_all()'));
  expect(report.notChecked).toEqual(['another process is already repairing this database']);
  expect(exitCode(report)).toBe(2);
});

it('reports that it could not check without a database, or when it is stopped', async () => {
  const options = { databaseUrl: 'postgres://127.0.0.1:1/none', repair: false, limit: 2 };
  expect(exitCode(await verify(options))).toBe(2);
  const stopped = await verify({ ...options, databaseUrl: scene.written.operatorUrl }, AbortSignal.abort());
  expect(stopped).toMatchObject({ complete: false, notChecked: ['stopped before the end'] });
  expect(exitCode(stopped)).toBe(2);
});

it("reads shares given since a vault's last trade in a few statements, not one for each", async () => {
  const { client } = scene.written;
  const [vault, from, to] = ['ee', 'aa', 'bb'].map((byte) => `0x${byte.repeat(20)}`);
  await client.query('BEGIN');
  try {
    await client.query(
      `INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id,
         pool_name, account, amount, shares, outcome)
       SELECT 1000 + n, k * ${SECOND}, '0x' || n, now(), '0x' || n, $1, (1000 + n)::bigint * ${2n * SECOND} + k * ${SECOND},
         CASE k WHEN 0 THEN 'Deposited' ELSE 'Withdrawn' END, gen_random_uuid(), $2, CASE k WHEN 0 THEN $3 ELSE $2 END,
         1, 1, 'APPLIED' FROM generate_series(1, 1000) n, generate_series(0, 1) k`,
      [vault, from, to],
    );
    await client.query('ANALYZE chain_events');
    const pairs = [
      [vault, vault],
      [from, to],
    ];
    const plan = await planOf((...asked) => scene.written.sql(...asked), SHARE_ROWS, pairs);
    expect(rowsRead(plan, 'chain_events')).toBeLessThan(20 * 2000);
  } finally {
    await client.query('ROLLBACK');
  }
});

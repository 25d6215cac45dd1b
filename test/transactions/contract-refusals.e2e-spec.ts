import { encodeErrorResult, parseAbi } from 'viem';
import { Refusals } from '#extensions/payments/refusals';
import { NATIVE_COIN } from '#ledger/adapters/pool-contract';
import { type SignedIn, TestApp } from '../support/app';
import { FakeNode } from '../support/network/fake-node';
import { addPosition } from '../support/ledger';

const errors = parseAbi(['error EnforcedPause()', 'error Full(uint256 left)']);
const [PAUSED, FULL] = [
  encodeErrorResult({ abi: errors, errorName: 'EnforcedPause' }),
  encodeErrorResult({ abi: errors, errorName: 'Full', args: [3n] }),
];
const TOKEN = `0x${'a'.repeat(40)}`;
const CALLS = { deposit: 'pay(uint256 amount)', withdraw: 'takeOut(uint256 amount)', claim: 'takeReward()' };

/** What the node does, by method. Undefined: it says nothing. */
let answers: Record<string, (params: unknown[]) => object | undefined>;
let asked: string[];
let node: FakeNode;
let user: SignedIn;
let pool: string;
const app = new TestApp();

beforeAll(async () => {
  node = await FakeNode.start((_, response, body) => {
    const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: unknown[] };
    asked.push(method);
    const answer = answers[method](params);
    if (answer) response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  });
  await app.start({ RPC_URL: node.url });
  user = await app.signIn();
  pool = (await app.createPool(user)).id as string;
  await app.sql(`INSERT INTO chain_contracts (type, address, position, from_block, calls, errors)
    SELECT type, contract_address, 0, 0, '${JSON.stringify(CALLS)}', '${JSON.stringify(errors)}' FROM pools`);
  await app.sql(`INSERT INTO chain_facts VALUES (1, 31337, $1, 'DAI', 18)`, [TOKEN]);
  await app.sql(`INSERT INTO chain_tokens SELECT contract_address, $1, 'DAI', 18 FROM pools`, [TOKEN]);
  await app.sql(
    `INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time, applied_number, beat_at)
     VALUES (31337, '0x', 12, '0x', now(), 12, now())`,
  );
  await addPosition(app, pool, user.address, { balance: 9, deposited: 9 });
});
beforeEach(() => {
  asked = [];
  // A slow machine must not decide.
  app.nest.get(Refusals).nodeMs = 60_000;
});
afterAll(async () => {
  await app.stop();
  await node.stop();
});

const reverted = (data: string) => () => ({ error: { code: 3, message: 'execution reverted', data } });
const head = (number: number) => () => ({ result: `0x${number.toString(16)}` });
const balance = (amount: number) => () => ({ result: `0x${amount.toString(16).padStart(64, '0')}` });
/** The approval is taken, the payment is not. */
const simulated = (data?: string) => () => ({
  result: [{ calls: [{ status: '0x1' }, { status: data ? '0x0' : '0x1', returnData: data ?? '0x' }] }],
});
const built = async (path: string) => {
  const { status, body } = await app.get(`/pools/${pool}/calls/${path}`, user);
  return status === 200
    ? body.data.calls.map(({ name }: { name: string }) => name)
    : [status, body.code, body.details[0].message];
};

describe('a call that the contract refuses', () => {
  it.each([
    [
      'deposit?amount=5',
      { eth_simulateV1: simulated(PAUSED), eth_call: balance(5) },
      'deposit: EnforcedPause()',
    ],
    ['withdraw?amount=5', { eth_call: reverted(FULL) }, 'withdraw: Full(3)'],
    ['withdraw?amount=5', { eth_call: reverted('0x12345678') }, 'withdraw: error 0x12345678'],
    ['claim', { eth_call: reverted('0x') }, 'claimYield: without a reason'],
  ])('is not built: %s', async (path, node, message) => {
    answers = { ...node, eth_blockNumber: head(12) };
    expect(await built(path)).toEqual([409, 'contract_refuses', message]);
  });

  it('is asked for as the caller, and once more at a block that the ledger has', async () => {
    const params: unknown[] = [];
    answers = { eth_call: (given) => (params.push(given), reverted(PAUSED)()), eth_blockNumber: head(13) };
    await built('withdraw?amount=5');
    const sent = { from: user.address, to: expect.any(String), data: expect.any(String) };
    expect(params).toEqual([
      [sent, 'latest'],
      [sent, '0xd'],
    ]);
  });

  it("has the chain's own coin as its value, which the wallet may lack as it may lack tokens", async () => {
    await app.sql('UPDATE chain_tokens SET token = $1', [NATIVE_COIN]);
    const params: unknown[] = [];
    let has = 5;
    answers = {
      eth_call: ([sent]) => (params.push(sent), reverted(PAUSED)()),
      eth_blockNumber: head(12),
      eth_getBalance: () => head(has)(),
    };
    expect(await built('deposit?amount=5')).toEqual([409, 'contract_refuses', 'deposit: EnforcedPause()']);
    expect(params[0]).toMatchObject({ from: user.address, value: '0x5' });
    has = 4;
    expect(await built('deposit?amount=5')).toEqual(['deposit']);
    // It needs no approval, and the service's own contracts take none.
    await app.sql('UPDATE chain_contracts SET calls = NULL');
    expect((await app.get(`/pools/${pool}/calls/deposit?amount=5`, user)).body.code).toBe('calls_unknown');
    await app.sql('UPDATE chain_contracts SET calls = $1', [JSON.stringify(CALLS)]);
    await app.sql('UPDATE chain_tokens SET token = $1', [TOKEN]);
  });
});

it('is not built of a contract whose adapter says no calls, and nobody knows what it yields', async () => {
  const contract = (await app.sql<{ address: string }>('SELECT address FROM chain_contracts'))[0].address;
  const known = async (): Promise<unknown[]> => [
    (await app.get('/config')).body.data.contractCalls[contract],
    (await app.get(`/pools/${pool}/calls/withdraw?amount=5`, user)).body.code,
    (await app.get(`/pools/${pool}/position`, user)).body.data.claimable,
  ];
  await app.sql(`UPDATE chain_contracts SET calls = '{}'`);
  expect(await known()).toEqual([[], 'calls_unknown', null]);
  await app.sql('UPDATE chain_contracts SET calls = $1', [JSON.stringify(CALLS)]);
});

describe('a call is built', () => {
  const names = { 'deposit?amount=5': ['approve', 'deposit'], 'withdraw?amount=5': ['withdraw'] };

  it.each<[string, typeof answers, (keyof typeof names)?]>([
    ['if the contract takes it', { eth_simulateV1: simulated() }],
    [
      'if the wallet has too little, in whatever words',
      { eth_simulateV1: simulated('0x'), eth_blockNumber: head(12), eth_call: balance(4) },
    ],
    ['if the node says that the simulation reverts', { eth_simulateV1: reverted('0x') }],
    [
      'if the node simulates something else',
      { eth_simulateV1: () => ({ result: [{ calls: { status: '0x0' } }] }) },
    ],
    [
      'if the node is behind the ledger',
      { eth_call: reverted(PAUSED), eth_blockNumber: head(11) },
      'withdraw?amount=5',
    ],
    [
      'if the contract takes it by now',
      {
        eth_call: ([, block]) => (block === 'latest' ? reverted(PAUSED)() : { result: '0x' }),
        eth_blockNumber: head(13),
      },
      'withdraw?amount=5',
    ],
    [
      'if the node cannot tell',
      { eth_simulateV1: () => ({ error: { code: -32601, message: 'the method does not exist' } }) },
    ],
    ['if the node answers something else', { eth_simulateV1: () => ({ result: null }) }],
  ])('%s', async (_, node, path = 'deposit?amount=5') => {
    answers = node;
    expect(await built(path)).toEqual(names[path]);
  });

  it('if the node hangs, which is then left alone for a while', async () => {
    app.nest.get(Refusals).nodeMs = 50;
    answers = { eth_call: () => undefined };
    expect(await built('withdraw?amount=5')).toEqual(['withdraw']);
    expect(await built('withdraw?amount=5')).toEqual(['withdraw']);
    expect(asked.length).toBeLessThanOrEqual(1);
  });
});

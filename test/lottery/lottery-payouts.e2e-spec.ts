import { type Hex, decodeFunctionData } from 'viem';
import { lotteryPoolAbi } from '#ledger/chain/contract.abi';
import { type Response, type SignedIn, type TestApp, useApp } from '../support/app';
import { LAST_BLOCK, LAST_TIME, LOTTERY, addDraw, addEntry, knowLottery } from '../support/chain/draws';

const DAY_MS = 86_400_000;
const GRACE_MS = 7 * DAY_MS;
/** Before the last block. */
const ago = (ms: number): string => new Date(Date.parse(LAST_TIME) - ms).toISOString();

let me: SignedIn;
let other: SignedIn;

const clear = (app: TestApp): Promise<unknown> =>
  app.sql('DELETE FROM lottery_draws; DELETE FROM lottery_tickets');

describe('what the caller can take out of draws', () => {
  const app = useApp();
  const mine = async (query = '', as = me): Promise<Response['body']> =>
    (await app.get(`/lottery/me${query}`, as)).body;
  const call = (name: string, drawId: number | string, as = me, more = ''): Promise<Response> =>
    app.get(`/lottery/calls/${name}?drawId=${drawId}${more}`, as);
  const codeOf = async (answer: Promise<Response>): Promise<[number, unknown]> => {
    const { status, body } = await answer;
    if (status !== 200) return [status, body.code];
    const [{ name, data }] = body.data.calls as { name: string; data: Hex }[];
    expect(decodeFunctionData({ abi: lotteryPoolAbi, data }).functionName).toBe(name);
    return [status, name];
  };

  beforeAll(async () => {
    me = await app.signIn();
    other = await app.signIn();
    await knowLottery(app);
  });
  beforeEach(() => clear(app));

  it('lists what tickets and gifts come back to, and what is still to be taken', async () => {
    await addDraw(app, 1, { status: 'COMPLETED', winner: me.address });
    await addDraw(app, 2, { status: 'COMPLETED', winner: me.address, paid: true });
    await addDraw(app, 3, { status: 'COMPLETED', winner: other.address });
    await addDraw(app, 4, { status: 'CANCELLED' });
    await addDraw(app, 5, { status: 'CANCELLED' });
    await addDraw(app, 6, { status: 'CANCELLED' });
    await addDraw(app, 7, { status: 'ACTIVE' });
    for (const drawId of [1, 2, 3]) await addEntry(app, drawId, me.address, [2, 10, 0]);
    await addEntry(app, 4, me.address, [2, 17, 0]);
    await addEntry(app, 5, me.address, [0, 7, 0]);
    await addEntry(app, 6, me.address, [2, 17, 17]);
    await addEntry(app, 7, me.address, [0, 7, 0]);
    await addEntry(app, 7, other.address, [1, 5, 0]);
    const { data, pagination } = await mine();
    const of = (entry: Record<string, unknown>): unknown[] =>
      ['drawId', 'tickets', 'spent', 'gifts', 'won', 'paid', 'refundable', 'due'].map((name) => entry[name]);
    expect((data as Record<string, unknown>[]).map(of)).toEqual([
      [7, 0, '0', '7', false, false, '0', null],
      [6, 2, '10', '7', false, false, '0', null],
      [5, 0, '0', '7', false, false, '7', 'refund'],
      [4, 2, '10', '7', false, false, '17', 'refund'],
      [3, 2, '10', '0', false, false, '0', null],
      [2, 2, '10', '0', true, true, '0', null],
      [1, 2, '10', '0', true, false, '0', 'claim'],
    ]);
    expect(pagination.total).toBe(7);
    expect((await mine('', other)).data.map(of)).toEqual([[7, 1, '5', '0', false, false, '0', null]]);
  });

  it('a prize is paid by anyone, once, to the winner', async () => {
    await addDraw(app, 1, { status: 'COMPLETED', winner: me.address });
    for (const as of [me, other]) expect(await codeOf(call('claim', 1, as))).toEqual([200, 'claimPrize']);
    await app.sql('UPDATE lottery_draws SET paid = true');
    expect(await codeOf(call('claim', 1))).toEqual([409, 'already_paid']);
    for (const status of ['ACTIVE', 'DRAWING', 'CANCELLED'] as const) {
      await clear(app);
      await addDraw(app, 1, { status, pickBlock: LAST_BLOCK });
      expect(await codeOf(call('claim', 1))).toEqual([409, 'wrong_draw_status']);
    }
  });

  it('a refund goes to the payer, once', async () => {
    await addDraw(app, 1, { status: 'CANCELLED' });
    await addEntry(app, 1, me.address, [0, 7, 0]);
    expect(await codeOf(call('refund', 1))).toEqual([200, 'refund']);
    expect(await codeOf(call('refund', 1, other))).toEqual([409, 'nothing_to_refund']);
    await app.sql('UPDATE lottery_tickets SET refunded = 7');
    expect(await codeOf(call('refund', 1))).toEqual([409, 'nothing_to_refund']);
    for (const status of ['ACTIVE', 'DRAWING', 'COMPLETED'] as const) {
      await clear(app);
      await addDraw(app, 1, { status, ...(status === 'COMPLETED' && { winner: other.address }) });
      await addEntry(app, 1, me.address, [0, 7, 0]);
      expect(await codeOf(call('refund', 1))).toEqual([409, 'wrong_draw_status']);
    }
  });

  it.each([
    "UPDATE chain_cursor SET state = 'syncing'",
    'UPDATE chain_cursor SET head_number = head_number + 1',
    "UPDATE chain_cursor SET beat_at = now() - interval '1 hour'",
    `INSERT INTO chain_contracts_apart (address, block_number, block_hash, block_time, state, reason)
     VALUES ('${LOTTERY}', 1, '', now(), 'quarantined', 'a test')`,
  ])('a ledger that may be behind the chain refuses nothing: %s', async (behind) => {
    await addDraw(app, 1, { status: 'ACTIVE' });
    const asked = (): Promise<unknown[]> =>
      Promise.all(
        ['claim', 'refund', 'complete', 'cancel'].map(async (name) => (await call(name, 1)).status),
      );
    expect(await asked()).toEqual([409, 409, 409, 409]);
    const [row] = await app.sql('SELECT state, head_number, beat_at FROM chain_cursor');
    await app.sql(behind);
    expect(await asked()).toEqual([200, 200, 200, 200]);
    await app.sql('UPDATE chain_cursor SET state = $1, head_number = $2, beat_at = $3', Object.values(row));
    await app.sql('DELETE FROM chain_contracts_apart');
  });

  // The next block is the first one that the call can be in.
  it.each([
    ['before the block that picks', LAST_BLOCK + 1, null, 'too_early'],
    ['behind it', LAST_BLOCK, 'complete', 'completeDraw'],
    ['when its hash is out of reach', 1, 'complete', 'completeDraw'],
  ])(
    'a closed draw is moved on by anyone, and cancelled by none: %s',
    async (_, pickBlock, due, complete) => {
      await addDraw(app, 1, { status: 'DRAWING', pickBlock });
      await addEntry(app, 1, me.address, [1, 5, 0]);
      expect((await app.get('/lottery/current', me)).body.data.due).toBe(due);
      expect((await mine()).data[0].due).toBe(due);
      expect([(await codeOf(call('complete', 1)))[1], (await codeOf(call('cancel', 1, other)))[1]]).toEqual([
        complete,
        'wrong_draw_status',
      ]);
    },
  );

  it.each([
    ['before its time', -DAY_MS, 'too_early'],
    ['while its owner may come back', GRACE_MS - 1, 'too_early'],
    ['after that', GRACE_MS, 'cancelDraw'],
  ])('an open draw is cancelled by anyone once its owner has left it: %s', async (_, late, wanted) => {
    await addDraw(app, 1, { status: 'ACTIVE', drawTime: ago(late) });
    const due = wanted === 'cancelDraw' ? 'cancel' : null;
    expect((await app.get('/lottery/current', me)).body.data.due).toBe(due);
    expect((await codeOf(call('cancel', 1)))[1]).toBe(wanted);
    expect(await codeOf(call('complete', 1))).toEqual([409, 'wrong_draw_status']);
  });

  it('a draw that has ended is not moved on', async () => {
    await addDraw(app, 1, { status: 'CANCELLED' });
    await addDraw(app, 2, { status: 'COMPLETED', winner: me.address });
    for (const name of ['complete', 'cancel'])
      for (const drawId of [1, 2])
        expect(await codeOf(call(name, drawId))).toEqual([409, 'wrong_draw_status']);
  });

  it('goes to the contract that is named, by default the newest', async () => {
    const newer = `0x${'e2'.repeat(20)}`;
    await app.sql(`INSERT INTO chain_contracts VALUES ('lottery', $1, 1, 1), ('rotating', $2, 0, 1)`, [
      newer,
      `0x${'e3'.repeat(20)}`,
    ]);
    await addDraw(app, 1, { status: 'CANCELLED' });
    await addEntry(app, 1, me.address, [0, 7, 0]);
    expect(await codeOf(call('refund', 1))).toEqual([404, 'not_found']);
    const named = await call('refund', 1, me, `&contract=0x${LOTTERY.slice(2).toUpperCase()}`);
    expect(named.body.data.calls).toEqual([
      { name: 'refund', chainId: 5, to: LOTTERY, data: `0xd7194ccb${'1'.padStart(64, '0')}`, value: '0' },
    ]);
    await addDraw(app, 9, { status: 'COMPLETED', winner: me.address, contract: newer });
    expect((await call('claim', 9)).body.data.calls[0].to).toBe(newer);
    expect(await codeOf(call('refund', 1, me, `&contract=0x${'e3'.repeat(20)}`))).toEqual([404, 'not_found']);
    await app.sql(`DELETE FROM chain_contracts WHERE address <> $1`, [LOTTERY]);
  });

  it.each(['', '-1', '1.5', 'x', '0x1', '9007199254740992', '99999999999999999999', '1&drawId=2'])(
    'refuses the draw id %s',
    async (drawId) => {
      for (const name of ['claim', 'refund', 'complete', 'cancel']) {
        const { status, body } = await call(name, drawId);
        expect([status, body.details[0].field]).toEqual([400, 'drawId']);
      }
    },
  );

  it('is nothing that the service builds, where the adapter of the contract is another than its own', async () => {
    await addDraw(app, 1, { status: 'COMPLETED', winner: me.address });
    await app.sql(`UPDATE chain_contracts SET calls = '{}'`);
    for (const name of ['claim', 'refund', 'complete', 'cancel'])
      expect(await codeOf(call(name, 1))).toEqual([409, 'calls_unknown']);
    await addDraw(app, 2, { status: 'ACTIVE', drawTime: '2999-01-01' });
    expect(await codeOf(app.get('/lottery/calls/tickets?count=1', me))).toEqual([409, 'calls_unknown']);
    await app.sql('UPDATE chain_contracts SET calls = NULL');
  });

  it('takes the largest draw id, and no contract that is no address', async () => {
    expect(await codeOf(call('claim', Number.MAX_SAFE_INTEGER))).toEqual([404, 'not_found']);
    for (const contract of ['x', '0x12', '1'.repeat(42)])
      expect((await call('claim', 1, me, `&contract=${contract}`)).body.details[0].field).toBe('contract');
  });
});

describe('before the chain is known', () => {
  const app = useApp();

  it('there is no draw, and no call', async () => {
    const user = await app.signIn();
    expect((await app.get('/lottery/calls/claim?drawId=1', user)).status).toBe(404);
    await app.sql(`INSERT INTO chain_contracts VALUES ('lottery', $1, 0, 1)`, [LOTTERY]);
    await addDraw(app, 1, { status: 'COMPLETED', winner: user.address });
    await addEntry(app, 1, user.address, [1, 5, 0]);
    const { status, body } = await app.get('/lottery/calls/claim?drawId=1', user);
    expect([status, body.code]).toEqual([503, 'chain_unknown']);
    expect((await app.get('/lottery/me', user)).body.data).toMatchObject([{ due: 'claim' }]);
    await addDraw(app, 2, { status: 'ACTIVE', drawTime: '2020-01-01T00:00:00.000Z' });
    // Without a block there is no time that anything could be due by.
    expect((await app.get('/lottery/current', user)).body.data.due).toBe(null);
  });
});

import { maxUint256 } from 'viem';
import { LATEST_TIME_S } from '#indexer/reading/decode';
import { REPAIRING } from '../support/ledger';
import { GENESIS, LOTTERY, PaperChain, SAVER, TTL, Written } from '../support/chain/paper-chain';

const POOL = 'aaaaaaaa-0000-7000-8000-000000000001';
const ANNOUNCED = 'bbbbbbbb-0000-7000-8000-000000000001';
const deposit = (amount: bigint, fields = {}) =>
  ({
    kind: 'Deposited',
    poolId: POOL.replaceAll('-', ''),
    account: SAVER,
    amount: `${amount}`,
    ...fields,
  }) as const;
const withdrawal = (amount: bigint) => ({ ...deposit(amount), kind: 'Withdrawn' }) as const;

const open = Written.use();

describe('an event that cannot be applied', () => {
  let chain: PaperChain;
  let written: Written;
  beforeEach(async () => {
    chain = new PaperChain();
    written = await open(chain);
    await written.addPool(POOL);
  });

  const outcomes = (): Promise<string[]> =>
    written.column(
      `SELECT concat_ws(': ', outcome, reason) FROM chain_events ORDER BY block_number, log_index`,
    );
  const amounts = (): Promise<string[]> =>
    written.column(
      `SELECT amount FROM transactions WHERE status = 'CONFIRMED' ORDER BY block_number, log_index`,
    );

  it('has a row of its own for logs whose indexes agree in 16 bits', async () => {
    const events = [deposit(1n, { logIndex: 4095 }), deposit(2n, { logIndex: 69631 })];
    for (const txHash of [`0x${'a'.repeat(64)}`, `0x${'a'.repeat(63)}b`])
      chain.add(
        events.map((event) => ({ ...event, txHash })),
        0,
      );
    await written.apply(chain);
    expect(await outcomes()).toEqual(['APPLIED', 'APPLIED', 'APPLIED', 'APPLIED']);
    expect(await amounts()).toEqual(['1', '2', '1', '2']);
  });

  it('is set aside with the reason where its row is refused, and those before and behind it apply', async () => {
    chain.add(Array.from({ length: 20 }, (_, i) => deposit(BigInt(i + 1))));
    chain.add([withdrawal(100n)]);
    // A row that stands where those of the 7th and the 12th will, as no honest writer makes it.
    const copy = await open(chain);
    await copy.addPool(POOL);
    await copy.apply(chain);
    const ids = await copy.column('SELECT id FROM transactions WHERE log_index IN (6, 11) ORDER BY id');
    await written.addPool(
      'aaaaaaaa-0000-7000-8000-000000000002',
      ids.map((id) => ({ id, amount: '1', at: GENESIS })),
    );
    const { anomalies, setAside } = await written.apply(chain);
    expect(anomalies).toEqual(new Map([['failed', 2]]));
    expect(setAside).toEqual(new Map([['failed', 2]]));
    const found = await outcomes();
    expect([found[6], found[11]]).toEqual(Array(2).fill('FAILED: 23505 transactions_pkey'));
    expect(found.filter((outcome) => outcome === 'APPLIED')).toHaveLength(19);
    const [pool] = await written.sql<{ balance: string }>('SELECT balance FROM pools WHERE id = $1', [POOL]);
    expect(pool.balance).toBe(`${210 - 7 - 12 - 100}`);
    expect(written.cursor.number).toBe(2);
    // Undone and read again: the same.
    const before = await written.state();
    await written.rewind(chain.blocks[0]);
    expect(await written.writer.setAside()).toEqual(new Map([['failed', 0]]));
    await written.apply(chain);
    expect(await written.state()).toEqual(before);
  });

  it('does not take the next one with it where a count would overflow', async () => {
    await written.client.query(
      `${REPAIRING}; UPDATE pools SET deposit_count = 2147483646 WHERE id = '${POOL}'`,
    );
    chain.add([deposit(1n), deposit(2n), withdrawal(1n)]);
    await written.apply(chain);
    const [first, second, third] = await outcomes();
    expect([first, third]).toEqual(['APPLIED', 'APPLIED']);
    expect(second).toMatch(/^FAILED: 22003/);
    expect(await amounts()).toEqual(['1', '1']);
  });

  it('of a pool that appears late is taken up, though every block has events of others', async () => {
    const late = 'aaaaaaaa-0000-7000-8000-000000000002';
    chain.add([deposit(5n, { poolId: late.replaceAll('-', '') }), deposit(1n)]);
    await written.apply(chain);
    await written.addPool(late);
    const clock = jest.spyOn(Date, 'now');
    try {
      const searched = Date.now();
      for (let i = 1; i <= 5; i += 1) {
        clock.mockReturnValue(searched + 300 * i);
        chain.add([deposit(1n)]);
        await written.apply(chain);
      }
    } finally {
      clock.mockRestore();
    }
    expect(await outcomes()).toEqual(Array(7).fill('APPLIED'));
  });

  it('has no amount: the batch goes on, once', async () => {
    const later = await open(chain, 1);
    await later.addPool(POOL);
    const draw = { contract: LOTTERY, drawId: '1' };
    chain.add([deposit(1n), deposit(2n), withdrawal(3n), deposit(4n)]);
    await later.apply(chain);
    await later.sql(`UPDATE chain_events SET amount = NULL WHERE amount IN (2, 3)`);
    chain.add([
      { kind: 'DrawOpened', ...draw, amount: '5', drawTime: GENESIS },
      { kind: 'PrizeFunded', ...draw, account: SAVER },
      { kind: 'Refunded', ...draw, amount: '7' },
      { kind: 'TicketsIssued', ...draw, account: SAVER, amount: '2' },
    ]);
    chain.add();
    await later.apply(chain);
    const outcome = async (): Promise<unknown> => (await later.state()).events;
    expect(await outcome()).toMatchObject([
      { outcome: 'APPLIED' },
      { outcome: 'REFUSED', reason: 'no amount' },
      { outcome: 'REFUSED', reason: 'no amount' },
      { outcome: 'APPLIED' },
      { outcome: 'APPLIED' },
      { outcome: 'APPLIED' },
      { outcome: 'FAILED' },
      { outcome: 'APPLIED' },
    ]);
    expect((await later.state()).pools).toMatchObject([{ balance: '5' }]);
    expect(later.cursor.number).toBe(3);
  });

  it('is none for values as large as their types', async () => {
    const [most, large] = [2n ** 53n, 2n ** 64n].map((n) => ({ drawId: `${n - 1n}`, contract: LOTTERY }));
    chain.add([
      deposit(maxUint256),
      deposit(maxUint256),
      withdrawal(maxUint256),
      { kind: 'YieldAccrued', poolId: POOL.replaceAll('-', ''), amount: '1', aprBps: 2 ** 32 - 1 },
      { kind: 'DrawOpened', ...most, amount: `${maxUint256}`, drawTime: LATEST_TIME_S },
      { kind: 'TicketsIssued', ...most, account: SAVER, amount: `${maxUint256}` },
      { kind: 'TicketsIssued', ...most, account: SAVER, amount: `${maxUint256}` },
      { kind: 'DrawOpened', ...large, amount: '1', drawTime: LATEST_TIME_S },
      deposit(5n, { logIndex: 2 ** 24 }),
      deposit(6n, { logIndex: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER }),
    ]);
    chain.add([deposit(7n)]);
    await written.apply(chain);
    const place = 'REFUSED: block or log number out of range';
    expect(await outcomes()).toEqual([
      ...Array<string>(7).fill('APPLIED'),
      'REFUSED: draw id beyond 2^53 - 1',
      place,
      place,
      'APPLIED',
    ]);
    const [pool] = await written.sql<object>('SELECT balance, apr_bps FROM pools');
    expect(pool).toEqual({ balance: `${maxUint256 + 7n}`, apr_bps: '4294967295' });
    const [draw] = await written.sql<object>(
      'SELECT draw_id, total_tickets, participants FROM lottery_draws',
    );
    expect(draw).toEqual({
      draw_id: '9007199254740991',
      total_tickets: `${2n * maxUint256}`,
      participants: 1,
    });
  });

  it('counts as an anomaly once, and a deposit of another amount than announced does too', async () => {
    await written.addPool('aaaaaaaa-0000-7000-8000-000000000002', [
      { id: ANNOUNCED, amount: '10', at: GENESIS },
    ]);
    const poolId = 'aaaaaaaa000070008000000000000002';
    chain.add([
      deposit(9n, { poolId, ref: ANNOUNCED.replaceAll('-', '') }),
      deposit(1n, { poolId: 'f'.repeat(32) }),
      withdrawal(1n),
    ]);
    // The overdraw twice: the ledger sets it aside, and the contract's arithmetic cannot give it.
    const kinds = ['amount', 'unknown_pool', 'overdraw', 'position'].map((kind) => [kind, 1]);
    expect([...(await written.apply(chain)).anomalies].sort()).toEqual(kinds.sort() as never);
    const again = await written.apply(chain, written.cursor.number);
    expect([...again.anomalies]).toEqual([]);
    expect(again.setAside).toEqual(new Map([['unknown_pool', 1], ['overdraw', 1]])); // prettier-ignore
  });
});

describe('expiry', () => {
  const statusOf = async (of: Written): Promise<string> =>
    (await of.column('SELECT status FROM transactions WHERE id = $1', [ANNOUNCED]))[0];
  let written: Written;
  async function begin(confirmations = 0): Promise<PaperChain> {
    const chain = new PaperChain();
    written = await open(chain, confirmations);
    await written.addPool(POOL, [{ id: ANNOUNCED, amount: '10', at: GENESIS }]);
    return chain;
  }

  it('is undone by a reorganisation that takes its block away', async () => {
    const chain = await begin();
    const early = chain.add();
    const late = chain.fork(1);
    late.add([], 2 * TTL);
    await written.apply(late);
    expect(await statusOf(written)).toBe('EXPIRED');
    await written.rewind(early);
    expect(await statusOf(written)).toBe('PENDING');
    const [pool] = await written.sql<{ balance: string }>('SELECT balance FROM pools');
    expect(pool.balance).toBe('10');
    chain.add([], TTL - 12);
    await written.apply(chain);
    expect(await statusOf(written)).toBe('PENDING');
    chain.add([], 1);
    await written.apply(chain);
    expect(await statusOf(written)).toBe('EXPIRED');
  });

  it('comes back when a late deposit that had confirmed it is undone', async () => {
    const chain = await begin();
    const late = chain.add([], 2 * TTL);
    await written.apply(chain);
    expect(await statusOf(written)).toBe('EXPIRED');
    chain.add([deposit(10n)]);
    await written.apply(chain);
    expect(await statusOf(written)).toBe('CONFIRMED');
    await written.rewind(late);
    expect(await statusOf(written)).toBe('EXPIRED');
  });

  it('goes by the last block in effect: a deposit that was mined in time is never shown expired', async () => {
    const chain = await begin(10);
    chain.add([deposit(10n)], TTL - 1);
    const seen = new Set<string>();
    for (let i = 0; i < 12; i += 1) {
      await written.apply(chain);
      seen.add(await statusOf(written));
      chain.add([], 600);
    }
    expect([...seen]).toEqual(['PENDING', 'CONFIRMED']);
  });
});

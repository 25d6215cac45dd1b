import { WINNER_CURSOR } from '#features/lottery/lottery.dto';
import { type SignedIn, type TestApp, useApp } from '../support/app';

const OLD = `0x${'1a'.repeat(20)}`;
const NEW = `0x${'0b'.repeat(20)}`;
const WINNER = `0x${'ab'.repeat(20)}`;
const PRIZE = '123456789012345678901234567890';

const AT = '2026-01-01T00:00:00.000Z';

async function addDraw(
  app: TestApp,
  { drawId = 1, status = 'COMPLETED', at = AT, prize = PRIZE, winner = WINNER, contract = NEW },
): Promise<void> {
  const won = status === 'COMPLETED' ? [winner, 5, prize, at] : Array<null>(4).fill(null);
  await app.sql(
    `INSERT INTO lottery_draws (draw_id, status, ticket_price, prize_pool, participants, total_tickets, draw_time,
       winner, winner_tickets, prize, drawn_at, contract)
     VALUES ($1, $2, 1000, 987654321098765432109876543210, 3, 10, $3, $4, $5, $6, $7, $8)`,
    [drawId, status, at, ...won, contract],
  );
}

const follow = (app: TestApp): Promise<unknown> =>
  app.sql(`INSERT INTO chain_contracts VALUES ('lottery', $1, 0, 1), ('lottery', $2, 1, 900)`, [OLD, NEW]);

describe('lottery', () => {
  const app = useApp();
  let user: SignedIn;

  beforeAll(async () => {
    user = await app.signIn();
    await follow(app);
  });
  beforeEach(async () => {
    await app.sql('DELETE FROM lottery_draws');
    await app.sql('DELETE FROM lottery_tickets');
  });

  it('has no current draw while none is open', async () => {
    await addDraw(app, { drawId: 1 });
    await addDraw(app, { drawId: 2, status: 'CANCELLED', at: '2026-01-02T00:00:00.000Z' });
    const { status, body } = await app.get('/lottery/current', user);
    expect([status, body]).toEqual([404, { success: false, error: 'Not found', code: 'no_open_draw' }]);
  });

  it.each(['ACTIVE', 'DRAWING'])('shows the newest open draw: %s', async (status) => {
    await addDraw(app, { drawId: 3, status: 'ACTIVE' });
    await addDraw(app, { drawId: 4, status, at: '2026-02-01T10:20:30.456Z' });
    await addDraw(app, { drawId: 5, status: 'CANCELLED', at: '2026-03-01T00:00:00.000Z' });
    const answer = await app.get('/lottery/current', user);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      success: true,
      data: {
        drawId: 4,
        contract: NEW,
        prizePool: '987654321098765432109876543210',
        ticketPrice: '1000',
        participants: 3,
        totalTickets: 10,
        totalTicketsExact: '10',
        drawTime: '2026-02-01T10:20:30.456Z',
        status,
        due: null,
      },
    });
  });

  it('shows the open draw of the newest contract that has one, and winners of all', async () => {
    const current = async (): Promise<unknown> => (await app.get('/lottery/current', user)).body.data;
    await addDraw(app, { contract: OLD, drawId: 9, status: 'ACTIVE' });
    await addDraw(app, { contract: NEW, drawId: 1, at: '2026-01-02T00:00:00.000Z' });
    await addDraw(app, { contract: OLD, drawId: 1, at: '2026-01-03T00:00:00.000Z' });
    expect(await current()).toMatchObject({ drawId: 9, contract: OLD });
    await addDraw(app, { contract: NEW, drawId: 2, status: 'ACTIVE' });
    expect(await current()).toMatchObject({ drawId: 2, contract: NEW });
    const { data, pagination } = (await app.get('/lottery/winners', user)).body;
    expect(data).toMatchObject([
      { drawId: 1, contract: OLD },
      { drawId: 1, contract: NEW },
    ]);
    expect(pagination.total).toBe(2);
  });

  it('lists the tickets of the caller, draws of the newest contract first', async () => {
    const tickets = (contract: string, drawId: number, account: string, count: string) =>
      app.sql('INSERT INTO lottery_tickets VALUES ($1, $2, $3, $4)', [contract, drawId, account, count]);
    const mine = async (query = ''): Promise<any> => (await app.get(`/lottery/me${query}`, user)).body;
    const at = '2026-01-03T00:00:00.000Z';
    await addDraw(app, { contract: OLD, drawId: 8, at, winner: user.address });
    await addDraw(app, { contract: OLD, drawId: 9, status: 'CANCELLED', at });
    await addDraw(app, { contract: NEW, drawId: 1, at });
    await addDraw(app, { contract: NEW, drawId: 2, status: 'ACTIVE', at });
    await addDraw(app, { contract: NEW, drawId: 3, status: 'ACTIVE', at });
    await tickets(OLD, 8, user.address, '3');
    await tickets(OLD, 9, user.address, '4');
    await tickets(NEW, 1, user.address, '5');
    await tickets(NEW, 2, user.address, (2n ** 80n).toString());
    await tickets(NEW, 3, WINNER, '6');
    const { data, pagination } = await mine();
    expect(pagination).toEqual({ page: 1, limit: 20, total: 4, pages: 1 });
    expect(data).toEqual([
      {
        drawId: 2,
        contract: NEW,
        tickets: Number.MAX_SAFE_INTEGER,
        ticketsExact: `${2n ** 80n}`,
        totalTickets: 10,
        totalTicketsExact: '10',
        ticketPrice: '1000',
        spent: `${2n ** 80n * 1000n}`,
        status: 'ACTIVE',
        drawTime: at,
        gifts: '0',
        won: false,
        prize: null,
        paid: false,
        refundable: '0',
        due: null,
      },
      expect.objectContaining({ drawId: 1, contract: NEW, won: false, prize: PRIZE }),
      expect.objectContaining({ drawId: 9, contract: OLD, status: 'CANCELLED', prize: null }),
      expect.objectContaining({
        drawId: 8,
        contract: OLD,
        tickets: 3,
        spent: '3000',
        won: true,
        prize: PRIZE,
      }),
    ]);
    expect((await mine('?limit=1&page=3')).data).toEqual([data[2]]);
    expect((await mine('?limit=2&page=2')).data).toEqual(data.slice(2));
  });

  it('never gives a number that JavaScript cannot represent', async () => {
    const [total, held] = [(2n ** 256n).toString(), '9007199254740993'];
    await addDraw(app, { drawId: Number.MAX_SAFE_INTEGER, status: 'ACTIVE' });
    await addDraw(app, { drawId: 1 });
    await app.sql('UPDATE lottery_draws SET total_tickets = $1', [total]);
    await app.sql('UPDATE lottery_draws SET winner_tickets = $1 WHERE winner IS NOT NULL', [held]);
    const exact = { totalTickets: Number.MAX_SAFE_INTEGER, totalTicketsExact: total };
    const current = await app.get('/lottery/current', user);
    expect(current.body.data).toMatchObject({ drawId: Number.MAX_SAFE_INTEGER, ...exact });
    const winners = await app.get('/lottery/winners', user);
    expect(winners.body.data).toMatchObject([
      { ...exact, tickets: Number.MAX_SAFE_INTEGER, ticketsExact: held },
    ]);
    expect(winners.text).not.toContain('e+');
  });

  it('keeps the number of winners through every change of a draw', async () => {
    const total = async (): Promise<number> =>
      (await app.get('/lottery/winners', user)).body.pagination.total;
    await addDraw(app, { drawId: 1, status: 'ACTIVE' });
    await addDraw(app, { drawId: 2 });
    expect(await total()).toBe(1);
    const won = `status = 'COMPLETED', winner = $1, winner_tickets = 1, prize = 1, drawn_at = now()`;
    await app.sql(`UPDATE lottery_draws SET ${won}`, [WINNER]);
    expect(await total()).toBe(2);
    await app.sql(`UPDATE lottery_draws SET status = 'ACTIVE', winner = NULL, prize = NULL, drawn_at = NULL`);
    expect(await total()).toBe(0);
    await app.sql(`UPDATE lottery_draws SET ${won}`, [WINNER]);
    await app.sql('DELETE FROM lottery_draws');
    expect(await total()).toBe(0);
  });

  it('lists winners of completed draws, newest first, 10 per page by default', async () => {
    for (let i = 1; i <= 12; i++)
      await addDraw(app, { drawId: i, at: new Date(Date.UTC(2026, 0, i)).toISOString() });
    await addDraw(app, { drawId: 13, status: 'ACTIVE', at: '2026-03-01T00:00:00.000Z' });
    await addDraw(app, { drawId: 14, status: 'CANCELLED', at: '2026-03-01T00:00:00.000Z' });
    const drawIds = (answer: { body: any }) =>
      (answer.body.data as { drawId: number }[]).map((row) => row.drawId);
    const first = await app.get('/lottery/winners', user);
    expect(drawIds(first)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
    expect(first.body.pagination).toEqual({ page: 1, limit: 10, total: 12, pages: 2 });
    expect(first.body.data[0]).toEqual({
      drawId: 12,
      contract: NEW,
      winner: WINNER,
      prize: PRIZE,
      tickets: 5,
      ticketsExact: '5',
      totalTickets: 10,
      totalTicketsExact: '10',
      drawnAt: '2026-01-12T00:00:00.000Z',
    });
    expect(drawIds(await app.get('/lottery/winners?page=2', user))).toEqual([2, 1]);
    expect(drawIds(await app.get('/lottery/winners?limit=6&page=2', user))).toEqual([6, 5, 4, 3, 2, 1]);
    expect(drawIds(await app.get('/lottery/winners?limit=6&page=3', user))).toEqual([]);
    const all = await app.get('/lottery/winners?limit=100', user);
    expect(all.body.pagination).toEqual({ page: 1, limit: 100, total: 12, pages: 1 });
  });

  it('has cursors that lead through draws of the same moment, in any contract, once each', async () => {
    const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second, 123)).toISOString();
    for (let i = 1; i <= 6; i++)
      for (const contract of [OLD, NEW]) await addDraw(app, { drawId: i, at: at(i >> 1), contract });
    const all = (await app.get('/lottery/winners?limit=100', user)).body;
    expect([all.data.length, all.next]).toEqual([12, null]);
    for (const limit of [1, 3, 4, 12, 5]) {
      const seen = [];
      let url = `/lottery/winners?limit=${limit}`;
      for (;;) {
        const { body } = await app.get(url, user);
        expect(Object.keys(body as object)).toEqual(
          seen.length ? ['success', 'data', 'next'] : ['success', 'data', 'pagination', 'next'],
        );
        seen.push(...(body.data as unknown[]));
        if (body.next === null) break;
        url = `/lottery/winners?limit=${limit}&after=${body.next}`;
        // A newer one is no part of a walk that has begun.
        if (limit === 5) await addDraw(app, { drawId: seen.length + 100, at: at(50) });
      }
      expect(seen).toEqual(all.data);
    }
  });

  it('refuses a cursor that is none, and one together with a page', async () => {
    for (let i = 1; i <= 2; i++) await addDraw(app, { drawId: i });
    const { next } = (await app.get('/lottery/winners?limit=1', user)).body;
    for (const [query, field] of [
      [`after=${next}&page=2`, 'page'],
      [`after=${WINNER_CURSOR.encode(`1 1 ${NEW.toUpperCase()}`)}`, 'after'],
    ]) {
      const { status, body } = await app.get(`/lottery/winners?${query}`, user);
      expect([query, status, body.details[0].field]).toEqual([query, 400, field]);
    }
    // Whatever a forged one names is a place in the list.
    for (const position of [`999999999999999 9999999999999999 ${NEW}`, `0 0 ${NEW}`]) {
      const { status } = await app.get(`/lottery/winners?after=${WINNER_CURSOR.encode(position)}`, user);
      expect(status).toBe(200);
    }
  });
});

describe('lottery with LOTTERY_PUBLIC', () => {
  const app = useApp({ LOTTERY_PUBLIC: 'true' });

  it('needs no token, and ignores one', async () => {
    await follow(app);
    await addDraw(app, { drawId: 7, status: 'ACTIVE', at: '2026-02-01T10:20:30.456Z' });
    for (const as of [undefined, { token: 'nonsense' }]) {
      expect((await app.get('/lottery/current', as)).body.data).toMatchObject({ drawId: 7 });
      expect((await app.get('/lottery/winners', as)).status).toBe(200);
    }
  });

  it('opens no other endpoint', async () => {
    for (const path of '/pools /transactions /analytics/pools /analytics/user /auth/me /lottery/me'.split(
      ' ',
    ))
      expect((await app.get(path)).status).toBe(401);
    expect((await app.get('/config')).body.data.publicStatistics).toBe(false);
  });
});

describe('lottery with PUBLIC_STATISTICS', () => {
  const app = useApp({ PUBLIC_STATISTICS: 'true' });

  it('shows a visitor prize, odds and price of the draw, past winners, and totals and APR of all pools', async () => {
    await follow(app);
    await addDraw(app, { drawId: 6, at: '2026-01-01T10:20:30.456Z' });
    await addDraw(app, { drawId: 7, status: 'ACTIVE', at: '2026-02-01T10:20:30.456Z' });
    await app.createPool(await app.signIn());
    for (const as of [undefined, { token: 'nonsense' }]) {
      expect((await app.get('/lottery/current', as)).body.data).toMatchObject({
        prizePool: '987654321098765432109876543210',
        ticketPrice: '1000',
        totalTicketsExact: '10',
        participants: 3,
      });
      expect((await app.get('/lottery/winners', as)).body.data).toMatchObject([{ drawId: 6, prize: PRIZE }]);
      const { data } = (await app.get('/analytics/pools', as)).body;
      expect(data).toMatchObject({ totalPools: 1, totalDeposits: '10000000000000000000', averageAPR: 0 });
    }
    expect((await app.get('/config')).body.data.publicStatistics).toBe(true);
  });

  it('opens nothing that is about somebody', async () => {
    for (const path of [
      ...['/pools', '/transactions', '/analytics/user', '/auth/me', '/lottery/me', '/users/me/start'],
      ...['/lottery/calls/tickets?count=1', '/users/me/positions'],
    ])
      expect([path, (await app.get(path)).status]).toEqual([path, 401]);
  });
});

import { type SignedIn, type TestApp, useApp } from './support/app';

interface Draw {
  drawId: number;
  status: string;
  at: string;
  prize?: string | null;
  winner?: string;
}

const WINNER = `0x${'ab'.repeat(20)}`;
const PRIZE = '123456789012345678901234567890';

async function addDraw(
  app: TestApp,
  { drawId, status, at, prize = PRIZE, winner = WINNER }: Draw,
): Promise<void> {
  const done = status === 'COMPLETED';
  await app.sql(
    `INSERT INTO lottery_draws (draw_id, status, ticket_price, prize_pool, participants, total_tickets, draw_time,
       winner, winner_tickets, prize, drawn_at)
     VALUES ($1, $2, 1000, 987654321098765432109876543210, 3, 10, $3, $4, $5, $6, $7)`,
    [drawId, status, at, done ? winner : null, done ? 5 : null, done ? prize : null, done ? at : null],
  );
}

describe('lottery', () => {
  const app = useApp();
  let user: SignedIn;

  beforeAll(async () => {
    user = await app.signIn();
  });
  beforeEach(() => app.sql('DELETE FROM lottery_draws'));

  it.each(['/lottery/current', '/lottery/winners', '/api/lottery/current'])(
    'needs a token: %s',
    async (path) => {
      const { status, body } = await app.get(path);
      expect([status, body]).toEqual([401, { success: false, error: 'Invalid token' }]);
    },
  );

  it('has no current draw while none is open', async () => {
    await addDraw(app, { drawId: 1, status: 'COMPLETED', at: '2026-01-01T00:00:00.000Z' });
    await addDraw(app, { drawId: 2, status: 'CANCELLED', at: '2026-01-02T00:00:00.000Z' });
    const { status, body } = await app.get('/lottery/current', user);
    expect([status, body]).toEqual([404, { success: false, error: 'Not found' }]);
  });

  it.each(['ACTIVE', 'DRAWING'])('shows the newest draw that is open: %s', async (status) => {
    await addDraw(app, { drawId: 3, status: 'ACTIVE', at: '2026-01-01T00:00:00.000Z' });
    await addDraw(app, { drawId: 4, status, at: '2026-02-01T10:20:30.456Z' });
    await addDraw(app, { drawId: 5, status: 'CANCELLED', at: '2026-03-01T00:00:00.000Z' });
    const answer = await app.get('/lottery/current', user);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      success: true,
      data: {
        drawId: 4,
        prizePool: '987654321098765432109876543210',
        participants: 3,
        totalTickets: 10,
        drawTime: '2026-02-01T10:20:30.456Z',
        status,
      },
    });
  });

  it('lists no winners at first', async () => {
    const { status, body } = await app.get('/lottery/winners', user);
    expect(status).toBe(200);
    expect(body).toEqual({ success: true, data: [], pagination: { page: 1, limit: 10, total: 0, pages: 0 } });
  });

  it('lists winners of completed draws, newest first, 10 a page unless told', async () => {
    for (let i = 1; i <= 12; i++)
      await addDraw(app, {
        drawId: i,
        status: 'COMPLETED',
        at: new Date(Date.UTC(2026, 0, i)).toISOString(),
      });
    await addDraw(app, { drawId: 13, status: 'ACTIVE', at: '2026-03-01T00:00:00.000Z' });
    await addDraw(app, { drawId: 14, status: 'CANCELLED', at: '2026-03-01T00:00:00.000Z' });
    const drawIds = (answer: { body: any }) =>
      (answer.body.data as { drawId: number }[]).map((row) => row.drawId);
    const first = await app.get('/lottery/winners', user);
    expect(drawIds(first)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
    expect(first.body.pagination).toEqual({ page: 1, limit: 10, total: 12, pages: 2 });
    expect(first.body.data[0]).toEqual({
      drawId: 12,
      winner: WINNER,
      prize: PRIZE,
      tickets: 5,
      totalTickets: 10,
      drawnAt: '2026-01-12T00:00:00.000Z',
    });
    expect(drawIds(await app.get('/lottery/winners?page=2', user))).toEqual([2, 1]);
    expect(drawIds(await app.get('/lottery/winners?limit=6&page=2', user))).toEqual([6, 5, 4, 3, 2, 1]);
    expect(drawIds(await app.get('/lottery/winners?limit=6&page=3', user))).toEqual([]);
    const all = await app.get('/lottery/winners?limit=100', user);
    expect(all.body.pagination).toEqual({ page: 1, limit: 100, total: 12, pages: 1 });
  });

  it.each(['limit=0', 'limit=101', 'limit=ten', 'limit=', 'page=0', 'page=99999999999999999999'])(
    'refuses ?%s',
    async (query) => {
      const { status, body } = await app.get(`/lottery/winners?${query}`, user);
      expect(status).toBe(400);
      expect(body.error).toBe('Validation failed');
      expect(body.details[0].field).toBe(query.split('=')[0]);
    },
  );
});

describe('lottery with LOTTERY_PUBLIC', () => {
  const app = useApp({ LOTTERY_PUBLIC: 'true' });

  it('needs no token, and minds none', async () => {
    await addDraw(app, { drawId: 7, status: 'ACTIVE', at: '2026-02-01T10:20:30.456Z' });
    for (const as of [undefined, { token: 'nonsense' }]) {
      expect((await app.get('/lottery/current', as)).body.data).toMatchObject({ drawId: 7 });
      expect((await app.get('/lottery/winners', as)).status).toBe(200);
    }
  });

  it('opens nothing else', async () => {
    for (const path of ['/pools', '/transactions', '/analytics/pools', '/analytics/user', '/auth/me'])
      expect((await app.get(path)).status).toBe(401);
  });
});

import { type LedgerEvent, TOPICS, type Topic } from '#ledger/outbox/ledger-event';
import { useApp } from '../support/app';
import { LOTTERY, OTHER, PaperChain, SAVER, Written } from '../support/chain/paper-chain';

const app = useApp();

const POOL = 'aaaaaaaa-0000-7000-8000-000000000001';
const NEVER_PAID = 'bbbbbbbb-0000-7000-8000-000000000001';
const NOT_WANTED = 'aaaaaaaa-0000-7000-8000-000000000002';
const TAKEN_BACK = 'bbbbbbbb-0000-7000-8000-000000000002';

/** By the rules that the OpenAPI document gives to everyone, which say of no field that there may be others. */
const violations = (event: unknown): string | undefined =>
  app.validator.violations({ $ref: '#/components/schemas/EventPayload' }, event);

describe('the schema of a topic', () => {
  const chain = new PaperChain();
  const written = new Written();
  const events: LedgerEvent[] = [];
  /** What was taken back. */
  const reverted = new Set<Topic>();

  beforeAll(async () => {
    await written.start(chain);
    await written.addPool(POOL, [{ id: NEVER_PAID, amount: '999', at: chain.blocks[0].time }]);
    const inPool = { poolId: POOL.replaceAll('-', ''), account: SAVER, amount: '100' };
    const draw = { contract: LOTTERY, drawId: '3' };
    chain.add([
      { kind: 'Deposited', ...inPool },
      { kind: 'Withdrawn', ...inPool, amount: '30' },
      { kind: 'YieldAccrued', poolId: inPool.poolId, amount: '5', aprBps: 400 },
      { kind: 'YieldClaimed', ...inPool, amount: '2' },
      { kind: 'DrawOpened', ...draw, amount: '5', drawTime: chain.head.time + 60 },
      { kind: 'PrizeFunded', ...draw, account: OTHER, amount: '900' },
      { kind: 'TicketsIssued', ...draw, account: SAVER, amount: '4' },
      { kind: 'DrawClosed', ...draw },
      { kind: 'DrawCompleted', ...draw, account: SAVER, amount: '800' },
      { kind: 'PrizePaid', ...draw, account: SAVER, amount: '800' },
      { kind: 'DrawOpened', ...draw, drawId: '4', amount: '5', drawTime: chain.head.time + 60 },
      { kind: 'PrizeFunded', ...draw, drawId: '4', account: OTHER, amount: '900' },
      { kind: 'DrawCancelled', ...draw, drawId: '4' },
      { kind: 'Refunded', ...draw, drawId: '4', account: OTHER, amount: '900' },
    ]);
    const circle = { poolId: inPool.poolId, circleId: '9' };
    chain.add([
      {
        kind: 'CircleOpened',
        ...circle,
        account: SAVER,
        amount: '5',
        collateral: '0',
        period: 60,
        place: 1,
        drawTime: 1,
      },
      { kind: 'MemberNamed', ...circle, account: SAVER, place: 0 },
      { kind: 'CircleStarted', ...circle, drawTime: chain.head.time + 60 },
      { kind: 'RoundEnded', ...circle, account: SAVER, amount: '5', place: 0, drawTime: 0 },
      { kind: 'CircleCompleted', ...circle },
      { kind: 'CircleCancelled', ...circle },
    ]);
    await written.apply(chain);
    await written.rewind(chain.blocks[0]);
    chain.add([], 7200);
    await written.apply(chain);
    await written.addPool(NOT_WANTED, [{ id: TAKEN_BACK, amount: '999', at: chain.head.time }]);
    await written.sql(
      `INSERT INTO submissions (transaction_id, account, hash, at, check_at)
       SELECT id, account, '0x7', now(), now() FROM transactions WHERE id = $1`,
      [TAKEN_BACK],
    );
    await written.sql('DELETE FROM submissions');
    await written.sql('SELECT cancel_pool($1, account) FROM transactions WHERE id = $2', [
      NOT_WANTED,
      TAKEN_BACK,
    ]);
    const [{ id }] = await written.sql<{ id: string }>(
      `INSERT INTO webhooks (id, user_id, address, slot, url, host, secret, status)
       SELECT gen_random_uuid(), id, address, 1, 'https://a.example', 'a.example', 's', 'ACTIVE'
       FROM users WHERE address = $1 RETURNING id`,
      [SAVER],
    );
    for (const status of ['PAUSED', 'ACTIVE', 'DISABLED'])
      await written.sql(
        `UPDATE webhooks SET status = $2, failing_since = now(), last_error = 'it answered 503' WHERE id = $1`,
        [id, status],
      );
    await written.sql(`UPDATE chain_cursor SET block_number = block_number, applied_number = applied_number + 1,
      published_from = applied_number + 1`);
    const rows = await written.sql<{ items: LedgerEvent[] }>('SELECT items FROM outbox ORDER BY position');
    for (const [n, item] of rows.flatMap(({ items }) => items).entries()) {
      const event = { ...item, id: `0000000002f1-00000000001a-${`${n}`.padStart(4, '0')}` };
      events.push(event);
      if (event.topic === 'transaction.reverted') reverted.add(event.reverted);
    }
  });
  afterAll(() => written.stop());

  it.each(TOPICS)('%s is what the service writes, no field more or less', (topic) => {
    const found = events.filter((event) => event.topic === topic);
    expect([topic, found.length]).not.toEqual([topic, 0]);
    for (const event of found) {
      expect([event, violations(event)]).toEqual([event, undefined]);
      expect(violations({ ...event, more: 1 })).toBeDefined();
      for (const field of ['id', 'occurredAt', 'topic'])
        expect(violations({ ...event, [field]: undefined })).toBeDefined();
    }
  });

  it('is that of what is taken back too, for all that comes from the chain', () =>
    expect([...reverted].sort()).toEqual(
      `circle.cancelled circle.completed circle.opened
      circle.round_ended circle.started deposit.confirmed draw.cancelled draw.closed draw.completed draw.opened
      draw.refunded prize.paid tickets.issued withdrawal.confirmed yield.accrued yield.claimed`.split(/\s+/),
    ));
});

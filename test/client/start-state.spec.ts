import type { EventPayload, Start } from '@pooled-savings/client';
import { StartState } from '../../client/src/live/start-state';
import { idOf } from '../support/processes/start-service';

const ME = `0x${'a'.repeat(40)}`;
const POOL = 'p';

/** A start page of a pool whose owner, someone else, has paid `balance`. */
const page = (cursor: string, balance = '100'): Start =>
  ({
    user: { address: ME },
    otherContracts: [],
    pools: { data: [{ id: POOL, balance, pendingBalance: '0', recentTransactions: [] }] },
    positions: { data: [], pagination: { total: 0, limit: 100 } },
    transactions: { data: [], pagination: { page: 1, limit: 8, total: 0, pages: 0 } },
    cursor,
  }) as unknown as Start;

const deposit = (n: number): EventPayload => ({
  ...{ id: idOf(n), topic: 'deposit.confirmed', occurredAt: '2026-01-01T00:00:00.000Z', poolId: POOL },
  ...{ transactionId: `t${n}`, transactionType: 'DEPOSIT', txHash: `0x${n}`, blockNumber: n, logIndex: 0 },
  ...{ final: false, account: '0xb', amount: '1' },
});

const balance = ({ start }: StartState): string => start!.pools.data[0].balance;

it('lets each event happen once, however often it comes', () => {
  const state = new StartState(page(idOf(1)));
  for (const n of [1, 2, 3, 2, 3, 3]) state.take(deposit(n));
  expect([balance(state), state.start!.cursor, state.isStale]).toEqual(['102', idOf(3), false]);
});

it('lets happen to an answer what it does not contain', () => {
  const state = new StartState(page(idOf(1)));
  for (const n of [2, 3, 4]) state.take(deposit(n));
  expect(state.answer(page(idOf(3), '102'), state.reading)).toBe(true);
  expect([balance(state), state.start!.cursor]).toEqual(['103', idOf(4)]);
});

it('knows what an answer contains beyond its cursor', () => {
  const state = new StartState(page(idOf(1)));
  // The row of the third event was committed, that of the second is still written.
  state.answer(page(`${idOf(1)}~3.1`, '101'), state.reading);
  for (const n of [2, 3, 4]) state.take(deposit(n));
  expect([balance(state), state.start!.cursor]).toEqual(['103', idOf(4)]);
});

it('refuses answers of before what it has forgotten, but not those of a service that stays there', () => {
  const state = new StartState(page(idOf(9)));
  const older = (): boolean => state.answer(page(idOf(2), '7'), state.reading);
  expect([older(), older(), older(), balance(state)]).toEqual([false, false, true, '7']);
});

it('takes no answer of before a reload, and tells nothing of a state with gaps', () => {
  const state = new StartState(page(idOf(1)));
  const { reading } = state;
  state.reload(idOf(5));
  state.take(deposit(6));
  expect([state.answer(page(idOf(9)), reading), balance(state), state.isStale]).toEqual([false, '100', true]);
  expect([state.answer(page(idOf(5), '50'), state.reading), balance(state)]).toEqual([true, '51']);
});

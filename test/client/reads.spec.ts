import { type Payment, SavingsClient, memoryPayments, memoryTokens } from '@pooled-savings/client';
import { savingsQueries } from '@pooled-savings/client/queries';
import { tokenOf } from '../support/processes/start-service';

/** A browser's list with one payment. */
async function kept(payment: Partial<Payment>): Promise<ReturnType<typeof memoryPayments>> {
  const payments = memoryPayments();
  await payments.put({ id: 'x', hash: '0x1', startedAt: 1, ...payment } as Payment);
  return payments;
}

/** A service that answers when the test says so. */
function serve(payments = memoryPayments(), data = {}) {
  const requests: Request[] = [];
  const waiting: (() => void)[] = [];
  const send: typeof fetch = async (input) => {
    const request = input as Request;
    requests.push(request);
    await new Promise<void>((resolve, reject) => {
      waiting.push(resolve);
      request.signal.addEventListener('abort', () => reject(request.signal.reason as Error));
    });
    return Response.json({ success: true, data });
  };
  const client = new SavingsClient({
    baseUrl: 'http://service.test',
    tokens: memoryTokens(tokenOf('0xa')),
    payments,
    fetch: send,
  });
  const answer = async (): Promise<void> => {
    while (waiting.length === 0) await new Promise(setImmediate);
    for (const each of waiting.splice(0)) each();
  };
  return { client, requests, answer };
}

it('gives a query no answer once another account has signed in', async () => {
  const { client, requests, answer } = serve();
  const { signal } = new AbortController();
  const query = savingsQueries(client).me();
  const read = query.queryFn({ signal });
  const refused = expect(read).rejects.toThrow('another account');
  while (requests.length === 0) await new Promise(setImmediate);
  await client.tokens.set(tokenOf('0xb'));
  await answer();
  await refused;
  await expect(query.queryFn({ signal })).rejects.toThrow('another account');
  expect(requests).toHaveLength(1);
});

it('asks about a payment that has not arrived once, however many listen to the list', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  const { client, answer } = serve(await kept({ kind: 'refund', state: 'done', block: 5 }));
  const ends = [1, 2, 3].map(() => client.payments.subscribe(() => undefined));
  // The client reads the configuration first.
  await answer();
  await new Promise(setImmediate);
  expect(jest.getTimerCount()).toBe(1);
  for (const end of ends) end();
  jest.useRealTimers();
});

it('shows a payment as done once its deposit was found confirmed', async () => {
  const payments = await kept({ kind: 'deposit', depositId: 'd', state: 'mined' });
  const { client, answer } = serve(payments, { status: 'CONFIRMED' });
  const confirmed = client.transactions.confirmed('d');
  await answer();
  await confirmed;
  await new Promise(setImmediate);
  expect(await client.payments.list()).toMatchObject([{ state: 'done', arrived: true }]);
});

import { type Payment, SavingsClient, memoryPayments, memoryTokens } from '@pooled-savings/client';
import { savingsQueries } from '@pooled-savings/client/queries';
import { tokenOf } from '../support/processes/start-service';

/** A service that answers when it is told to, with a tag if it has one. */
function serve({ tag }: { tag?: string } = {}, payments = memoryPayments()) {
  const requests: Request[] = [];
  const waiting: (() => void)[] = [];
  let version = 1;
  const send: typeof fetch = async (input) => {
    const request = input as Request;
    requests.push(request);
    await new Promise<void>((resolve, reject) => {
      waiting.push(resolve);
      request.signal.addEventListener('abort', () => reject(request.signal.reason as Error));
    });
    const known = tag && `${tag}${version}`;
    if (known && request.headers.get('if-none-match') === known) return new Response(null, { status: 304 });
    const headers = { 'content-type': 'application/json', ...(known && { etag: known }) };
    return new Response(JSON.stringify({ success: true, data: { version } }), { headers });
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
  return { client, requests, answer, change: () => version++ };
}

it('keeps what has a tag until it changes, for the session that read it', async () => {
  const { client, requests, answer, change } = serve({ tag: 'W/"x' });
  const me = async (): Promise<unknown> => {
    const read = client.account.me();
    await answer();
    return read;
  };
  expect([await me(), await me()]).toEqual([{ version: 1 }, { version: 1 }]);
  change();
  expect(await me()).toEqual({ version: 2 });
  await client.tokens.set(tokenOf('0xb'));
  await me();
  const tags = requests.map(({ headers }) => headers.get('if-none-match'));
  expect(tags).toEqual([null, 'W/"x1', 'W/"x1', null]);
});

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
  const payments = memoryPayments();
  await payments.put({
    id: 'x',
    kind: 'refund',
    state: 'done',
    hash: '0x1',
    block: 5,
  } as Partial<Payment> as Payment);
  const { client, answer } = serve({}, payments);
  const ends = [1, 2, 3].map(() => client.payments.subscribe(() => undefined));
  // The client reads the configuration first.
  await answer();
  await new Promise(setImmediate);
  expect(jest.getTimerCount()).toBe(1);
  for (const end of ends) end();
  jest.useRealTimers();
});

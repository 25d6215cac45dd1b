import { SavingsClient, webPayments, webTokens } from '@pooled-savings/client';
import {
  savingsQueries,
  useConnection,
  useFollow,
  usePayment,
  useSession,
} from '@pooled-savings/client/react';
import { QueryClient, QueryClientProvider, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { hydrateRoot } from 'react-dom/client';
import { renderToString } from 'react-dom/server';

const client = new SavingsClient({
  baseUrl: new URL('api', location.href).href,
  tokens: webTokens(sessionStorage),
  payments: webPayments(localStorage),
});

function App() {
  const { signedIn } = useSession(client);
  const { unreachable } = useConnection(client);
  if (signedIn && !unreachable) return <Pools />;
  return <button onClick={() => client.signIn(window.ethereum)}>Sign in</button>;
}

function Pools() {
  const { live } = useFollow(client, useQueryClient());
  const { data, hasNextPage, fetchNextPage } = useInfiniteQuery(savingsQueries(client).pools({ limit: 1 }));
  const { pay, payment, error } = usePayment(client, window.ethereum);
  const create = async () => {
    const { id, depositId } = await client.pools.create({
      type: 'individual',
      initialDeposit: '25000000000000000000',
    });
    await pay({ kind: 'deposit', pool: id, depositId });
  };
  const both = async () => {
    const { id, depositId } = await client.pools.create({
      type: 'individual',
      initialDeposit: '25000000000000000000',
    });
    const earlier = pay({ kind: 'deposit', pool: id, depositId });
    await pay({ kind: 'withdraw', pool: 'none', amount: '1' });
    await earlier;
    document.title = 'paid';
  };
  return (
    <>
      <button onClick={create}>Create</button>
      <button onClick={both}>Both</button>
      <button onClick={() => pay({ kind: 'withdraw', pool: 'none', amount: '1' })}>Fail</button>
      {hasNextPage && <button onClick={fetchNextPage}>More</button>}
      <p>
        {live ? 'live' : 'not live'}, {payment?.state ?? 'no payment'}, {error?.code ?? 'no error'}
      </p>
      {data?.pages.map((page) =>
        page.data.map(({ id, pendingBalance }) => <li key={id}>{pendingBalance} to pay</li>),
      )}
    </>
  );
}

const app = (
  <StrictMode>
    <QueryClientProvider client={new QueryClient()}>
      <App />
    </QueryClientProvider>
  </StrictMode>
);
const place = document.getElementById('app');
// As a server would have, which has no session.
place.innerHTML = renderToString(app);
hydrateRoot(place, app, { onRecoverableError: (error) => (document.title = error.message) });

import { useConnection, useSession } from '@pooled-savings/client/react';
import { render } from 'preact';
import { Suspense, lazy } from 'preact/compat';
import { useEffect, useState } from 'preact/hooks';
import { Button, Facts, ProblemText } from './parts.js';
import { type Problem, endedProblem, problemOf } from './errors.js';
import { type Token, shortAddress, withSymbol } from './format.js';
import {
  type ReadyConfig,
  type Session,
  client,
  readPublic,
  readyConfig,
  resume,
  signIn,
  signOut,
} from './session.js';
import { type WalletChoice, discoverWallets } from './wallets.js';

/** What only those who are signed in need. A new version of the page may have taken its file away meanwhile. */
const Dashboard = lazy(() =>
  import('./dashboard.js').then(
    ({ Dashboard }) => Dashboard,
    () => Outdated,
  ),
);

const Outdated = () => (
  <p class="notice" role="alert">
    <span>The page could not be loaded completely. There may be a new version.</span>
    <Button text="Load it again" onClick={() => location.reload()} />
  </p>
);

function App() {
  const [config, setConfig] = useState<ReadyConfig>();
  const [wallets, setWallets] = useState<WalletChoice[]>([]);
  const [session, setSession] = useState<Session>();
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState<string>();
  const fail = (error: unknown): void => setProblem(problemOf(error));

  useEffect(() => discoverWallets(setWallets), []);
  useEffect(() => void readyConfig().then(setConfig, fail), []);
  const choices = config?.local ? [...wallets, config.local.wallet] : wallets;
  useEffect(() => {
    if (config && !session) setSession(resume(choices));
  }, [config, choices.length]);
  const { signedIn, ended } = useSession(client);
  useEffect(() => {
    if (signedIn || !session) return;
    // The service has ended it, or another tab.
    setSession(undefined);
    if (ended) setProblem(endedProblem(ended));
  }, [signedIn]);
  const enter = (wallet: WalletChoice): void => {
    setProblem(undefined);
    setBusy(wallet.id);
    void signIn(wallet)
      .then(setSession, fail)
      .finally(() => setBusy(undefined));
  };
  const leave = (): void => {
    setSession(undefined);
    void signOut().catch(fail);
  };

  return (
    <>
      <header>
        <a class="brand" href="./">
          <img src="icon.svg" alt="" width="32" height="32" />
          <span>Pooled savings</span>
        </a>
        {config && (
          <span class="chip network">{config.local ? 'Local chain' : `Chain ${config.chainId}`}</span>
        )}
        {session && (
          <>
            <span class="chip account" title={session.address}>
              {shortAddress(session.address)}
            </span>
            <Button text="Sign out" onClick={leave} />
          </>
        )}
      </header>
      <main>
        <Connection />
        {session && config ? (
          <Suspense fallback={null}>
            <Dashboard key={session.address} session={session} config={config} onLeave={leave} />
          </Suspense>
        ) : (
          <section class="welcome">
            <h1>Save together, and see every token of it.</h1>
            <p>
              Pools for one or for many, yield that anyone can recount on the chain, and a lottery beside
              them. Sign in with a wallet: it costs nothing and sends nothing.
            </p>
            {config && <Wallets choices={choices} busy={busy} onChoice={enter} />}
            {!config && !problem && (
              <p class="muted" role="status">
                Waiting for the service…
              </p>
            )}
            {problem && <ProblemText problem={problem} />}
            {config?.publicStatistics && <Visitor token={config.token} />}
          </section>
        )}
      </main>
      <footer>
        <a href="api/docs">API documentation</a>
      </footer>
    </>
  );
}

/** What stands between this page and the service. The page continues automatically. */
function Connection() {
  const { unreachable, pausedUntil } = useConnection(client);
  return (
    <div role="status" class="connection">
      {pausedUntil ? (
        <p class="problem">
          Too many requests. The page goes on at {new Date(pausedUntil).toLocaleTimeString()}.
        </p>
      ) : (
        unreachable && (
          <p class="problem">The service does not answer. The page goes on by itself as soon as it does.</p>
        )
      )}
    </div>
  );
}

function Wallets(props: {
  choices: readonly WalletChoice[];
  busy: string | undefined;
  onChoice: (wallet: WalletChoice) => void;
}) {
  const { choices, busy, onChoice } = props;
  const isBuiltIn = ({ id }: WalletChoice): boolean => id === 'built-in';
  const nameOf = (wallet: WalletChoice): string =>
    isBuiltIn(wallet) ? 'Try without a wallet' : `Connect ${wallet.name}`;
  return (
    <>
      <div class="wallets">
        {choices.map((wallet) => (
          <button
            key={wallet.id}
            type="button"
            class={isBuiltIn(wallet) && choices.length > 1 ? '' : 'main'}
            disabled={busy !== undefined}
            onClick={() => onChoice(wallet)}
          >
            {wallet.icon && <img src={wallet.icon} alt="" width="20" height="20" />}
            {busy === wallet.id ? 'Look at your wallet…' : nameOf(wallet)}
          </button>
        ))}
      </div>
      {choices.every(isBuiltIn) && (
        <p class="hint">
          No wallet was found in this browser.
          {choices.length > 0 && ' The local chain has an account with test tokens, whose key is public.'}
        </p>
      )}
    </>
  );
}

/** What the service shows to everyone: totals, and the open draw. Only where its operator wants that. */
function Visitor({ token }: { token: Token }) {
  const [facts, setFacts] = useState<[string, string][]>([]);
  useEffect(() => {
    const read = async (): Promise<void> => {
      const { analytics, draw } = await readPublic();
      const paid = BigInt(analytics.totalDeposits) - BigInt(analytics.pendingDeposits);
      const ofDraw: [string, string][] = draw
        ? [
            ['Prize of the open draw', withSymbol(draw.prizePool, token)],
            ['Chance of a ticket bought now', `1 in ${draw.totalTickets + 1}`],
          ]
        : [];
      setFacts([
        ['Paid into pools so far', withSymbol(paid, token)],
        ['Pools', String(analytics.totalPools)],
        ['Average APR', `${analytics.averageAPR} %`],
        ...ofDraw,
      ]);
    };
    // Without it the page is still one to sign in on.
    void read().catch(() => undefined);
  }, []);
  return facts.length === 0 ? null : (
    <dl class="facts" aria-label="The service in figures">
      <Facts facts={facts} />
    </dl>
  );
}

render(<App />, document.getElementById('app')!);

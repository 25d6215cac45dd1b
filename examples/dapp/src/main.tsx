import { useConnection, useSession } from '@pooled-savings/client/react';
import { render } from 'preact';
import { Suspense, lazy } from 'preact/compat';
import { useEffect, useState } from 'preact/hooks';
import { Button, Facts, ProblemText } from './parts.js';
import { type Problem, endedProblem, problemOf } from './errors.js';
import { type Token, shortAddress, withSymbol } from './format.js';
import {
  type Public,
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

  useEffect(() => discoverWallets(setWallets), []);
  useEffect(() => {
    readyConfig().then(setConfig, (error: unknown) => setProblem(problemOf(error)));
  }, []);
  const choices = config?.local ? [...wallets, config.local.wallet] : wallets;
  const known = choices.map(({ id }) => id).join();
  useEffect(() => {
    if (config && !session) setSession(resume(choices));
  }, [config, known]);
  const { signedIn, ended } = useSession(client);
  useEffect(() => {
    if (signedIn || !session) return;
    // The service has ended it, or another tab.
    setSession(undefined);
    if (ended) setProblem(endedProblem(ended));
  }, [signedIn]);
  const enter = async (wallet: WalletChoice): Promise<void> => {
    setProblem(undefined);
    setBusy(wallet.id);
    try {
      setSession(await signIn(wallet));
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setBusy(undefined);
    }
  };
  const leave = async (): Promise<void> => {
    setSession(undefined);
    await signOut().catch((error: unknown) => setProblem(problemOf(error)));
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
            <Button text="Sign out" onClick={() => void leave()} />
          </>
        )}
      </header>
      <main>
        <Connection />
        {session && config ? (
          <Suspense fallback={null}>
            <Dashboard key={session.address} session={session} config={config} onLeave={() => void leave()} />
          </Suspense>
        ) : (
          <Welcome
            config={config}
            choices={choices}
            busy={busy}
            problem={problem}
            enter={(wallet) => void enter(wallet)}
          />
        )}
      </main>
      <footer>
        <a href="api/docs">API documentation</a>
      </footer>
    </>
  );
}

/** What stands between this page and the service. It goes on by itself. */
function Connection() {
  const { unreachable, pausedUntil } = useConnection(client);
  const text = pausedUntil
    ? `Too many requests. The page goes on at ${new Date(pausedUntil).toLocaleTimeString()}.`
    : unreachable
      ? 'The service does not answer. The page goes on by itself as soon as it does.'
      : undefined;
  return (
    <div role="status" class="connection">
      {text && <p class="problem">{text}</p>}
    </div>
  );
}

function Welcome({
  config,
  choices,
  busy,
  problem,
  enter,
}: {
  config: ReadyConfig | undefined;
  choices: readonly WalletChoice[];
  busy: string | undefined;
  problem: Problem | undefined;
  enter: (wallet: WalletChoice) => void;
}) {
  return (
    <section class="welcome">
      <h1>Save together, and see every token of it.</h1>
      <p>
        Pools for one or for many, yield that anyone can recount on the chain, and a lottery beside them. Sign
        in with a wallet: it costs nothing and sends nothing.
      </p>
      {!config && !problem && (
        <p class="muted" role="status">
          Waiting for the service…
        </p>
      )}
      {config && (
        <div class="wallets">
          {choices.map((wallet) => (
            <button
              key={wallet.id}
              type="button"
              class={wallet.id === 'built-in' && choices.length > 1 ? '' : 'main'}
              disabled={busy !== undefined}
              onClick={() => enter(wallet)}
            >
              {wallet.icon && <img src={wallet.icon} alt="" width="20" height="20" />}
              {busy === wallet.id
                ? 'Look at your wallet…'
                : wallet.id === 'built-in'
                  ? 'Try without a wallet'
                  : `Connect ${wallet.name}`}
            </button>
          ))}
        </div>
      )}
      {config && choices.every(({ id }) => id === 'built-in') && (
        <p class="hint">
          No wallet was found in this browser.
          {choices.length > 0 && ' The local chain has an account with test tokens, whose key is public.'}
        </p>
      )}
      {problem && <ProblemText problem={problem} />}
      {config?.publicStatistics && <Visitor token={config.token} />}
    </section>
  );
}

/** What the service shows to everyone: totals, and the open draw. Only where its operator wants that. */
function Visitor({ token }: { token: Token }) {
  const [shown, show] = useState<Public>();
  // Without it the page is still one to sign in on.
  useEffect(() => void readPublic().then(show, () => undefined), []);
  if (!shown) return null;
  const { analytics, draw } = shown;
  const paid = BigInt(analytics.totalDeposits) - BigInt(analytics.pendingDeposits);
  const facts: [string, string][] = [
    ['Paid into pools so far', withSymbol(paid, token)],
    ['Pools', String(analytics.totalPools)],
    ['Average APR', `${analytics.averageAPR} %`],
  ];
  if (draw)
    facts.push(
      ['Prize of the open draw', withSymbol(draw.prizePool, token)],
      ['Chance of a ticket bought now', `1 in ${draw.totalTickets + 1}`],
    );
  return (
    <dl class="facts" aria-label="The service in figures">
      <Facts facts={facts} />
    </dl>
  );
}

render(<App />, document.getElementById('app')!);

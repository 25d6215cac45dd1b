import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import type { SavingsClient } from './client.js';
import type { ConnectionState } from './connection.js';
import type { FollowState, Follower } from './live/follower.js';
import type { Observable } from './observable.js';
import type { PaymentRequest } from './payments/kinds.js';
import type { Payment } from './payments/payment.js';
import type { ResumeOptions } from './payments/payments.js';
import { type Invalidating, invalidation } from './queries.js';
import type { SessionState } from './session.js';
import type { Payer } from './wallet.js';

export { savingsQueries } from './queries.js';

// What a server knows of a visitor: a page begins with the same, and then shows what it has.
const NO_SESSION: SessionState = { signedIn: false, address: null, expiresAt: null, ended: null };
const CONNECTED: ConnectionState = { unreachable: false, pausedUntil: null };
const NO_PAYMENTS: readonly Payment[] = [];
const NOTHING: FollowState = { data: null, live: false, ...CONNECTED, error: null, ended: false };
const NEVER: Observable<FollowState> = { state: NOTHING, subscribe: () => () => undefined };

function useObserved<State>(observable: Observable<State>, onServer: State): State {
  const { subscribe } = observable;
  return useSyncExternalStore(
    subscribe,
    () => observable.state,
    () => onServer,
  );
}

/** Who is signed in, and why the last session ended. */
export const useSession = (client: SavingsClient): SessionState => useObserved(client.session, NO_SESSION);

/** Whether the service answers, and until when it wants no requests. */
export const useConnection = (client: SavingsClient): ConnectionState =>
  useObserved(client.connection, CONNECTED);

/** What is being paid, in all tabs, newest first. */
export const usePayments = (client: SavingsClient): readonly Payment[] =>
  useObserved(client.payments, NO_PAYMENTS);

/**
 * `client.follow()` for as long as somebody is signed in and the component is mounted.
 * @param queries TanStack's `QueryClient`: queries of `savingsQueries` are then read again when events change them
 */
export function useFollow(
  client: SavingsClient,
  queries?: Invalidating,
): FollowState & { readonly follower: Follower | undefined } {
  const { address } = useSession(client);
  const [follower, setFollower] = useState<Follower>();
  useEffect(() => {
    if (address === null) return undefined;
    const begun = client.follow();
    setFollower(begun);
    return () => {
      begun.stop();
      setFollower(undefined);
    };
  }, [client, address]);
  useEffect(
    () => (follower && queries ? invalidation(client, follower, queries) : undefined),
    [client, follower, queries],
  );
  const state = useObserved(follower ?? NEVER, NOTHING);
  return { ...state, follower };
}

export interface UsedPayment {
  /** The payment that this component has started or resumed last; undefined before, and once it was dismissed. */
  readonly payment: Payment | undefined;
  /** Why it failed, or why there is not even a payment. */
  readonly error: unknown;
  /** Resolves when it has ended, in whichever way. */
  pay(request: PaymentRequest): Promise<void>;
  resume(id: string): Promise<void>;
}

/** Pays with the wallet, such as wagmi's `useWalletClient().data`. A payment goes on if the component is unmounted. */
export function usePayment(client: SavingsClient, wallet: Payer | undefined): UsedPayment {
  const payments = usePayments(client);
  const [id, setId] = useState<string>();
  const [error, setError] = useState<unknown>();
  const runs = useRef(0);
  const actions = useMemo(() => {
    const run = async (pay: (options: ResumeOptions) => Promise<unknown>): Promise<void> => {
      const turn = ++runs.current;
      const isLast = (): boolean => turn === runs.current;
      setError(undefined);
      setId(undefined);
      try {
        await pay({ wallet, onChange: (payment) => void (isLast() && setId(payment.id)) });
      } catch (failure) {
        if (isLast()) setError(failure);
      }
    };
    return {
      pay: (request: PaymentRequest) =>
        run(async (options) => {
          if (!wallet) throw new Error('there is no wallet to pay with');
          await client.pay(request, { ...options, wallet });
        }),
      resume: (of: string) => run((options) => client.payments.resume(of, options)),
    };
  }, [client, wallet]);
  return { ...actions, payment: payments.find((each) => each.id === id), error };
}

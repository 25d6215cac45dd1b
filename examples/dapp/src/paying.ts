import { type PayOptions, type Payment, type PaymentStep, isSent, isUnderWay } from '@pooled-savings/client';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Problem, problemOf, textOf } from './errors.js';
import { type Session, client } from './session.js';
import type { Tokens } from './tokens.js';

/** How soon to try again to follow a payment: another tab may follow it, or something could not be reached. */
const AGAIN_MS = 5_000;

/** What this page knows of a payment that runs in it. */
interface Running {
  /** What the wallet was asked for so far. */
  readonly steps: readonly PaymentStep[];
  /** Ends with more to tell than what the store keeps. */
  readonly problem?: Problem;
}

/** A payment, as it is shown. */
export interface ShownPayment {
  readonly payment: Payment;
  readonly steps: readonly PaymentStep[];
  readonly problem?: Problem;
  /** It began in another tab or in an earlier visit, and asks the wallet only by a word of its user. */
  readonly waits: boolean;
}

export interface Paying {
  readonly payments: readonly ShownPayment[];
  /** The payment that has the dialog. */
  readonly shown: ShownPayment | undefined;
  show: (id: string | undefined) => void;
  /** Pays, and shows the payment. Resolves to the problem if not even a payment came of it. */
  start: (pay: (options: PayOptions) => Promise<unknown>) => Promise<Problem | undefined>;
  /** Goes on with one of an earlier visit. */
  resume: (id: string) => void;
  cancel: (id: string) => void;
  dismiss: (id: string) => void;
}

/**
 * The payments of this page, of other tabs, and of the time before a reload.
 * @param onArrived called once for each payment that the service has applied
 */
export function usePaying(
  { address, payer }: Session,
  tokens: Tokens,
  onArrived: (payment: Payment) => void,
): Paying {
  const [list, setList] = useState<readonly Payment[]>([]);
  const [here, setHere] = useState<ReadonlyMap<string, Running>>(new Map());
  const [shownId, show] = useState<string>();
  const started = useRef(new Set<string>());
  /** Those that were done before this visit. */
  const old = useRef<ReadonlySet<string>>();
  const arrived = useRef(new Set<string>());
  const last = useRef<ShownPayment>();

  const change = (id: string, what: (now: Running) => Running): void =>
    setHere((now) => new Map(now).set(id, what(now.get(id) ?? { steps: [] })));
  const onChange = ({ id, step }: Payment): void => {
    started.current.add(id);
    change(id, (now) => (step && now.steps.at(-1) !== step ? { ...now, steps: [...now.steps, step] } : now));
  };
  const run = async (
    pay: (options: PayOptions) => Promise<unknown>,
    onBegin?: (id: string) => void,
  ): Promise<Problem | undefined> => {
    let id: string | undefined;
    let token = tokens.only;
    const options = {
      wallet: payer,
      onChange: (payment: Payment): void => {
        onChange(payment);
        if (id === undefined) onBegin?.(payment.id);
        id = payment.id;
        token = tokens.ofPayment(payment);
      },
    };
    try {
      await pay(options);
    } catch (error) {
      const problem = problemOf(error, token);
      if (id === undefined) return problem;
      // If the wallet sends it after all, it is followed again.
      started.current.delete(id);
      change(id, (now) => ({ ...now, problem }));
    }
    return undefined;
  };
  /** Resolves to the problem if it does not even begin. */
  const resume = async (id: string): Promise<Problem | undefined> => {
    if (started.current.has(id)) return undefined;
    started.current.add(id);
    return run((options) => client.payments.resume(id, options));
  };
  const follow = async (id: string): Promise<void> => {
    if (await resume(id))
      setTimeout(() => {
        started.current.delete(id);
        setList((now) => [...now]);
      }, AGAIN_MS);
  };
  const goOn = async (id: string): Promise<void> => {
    change(id, (now) => ({ ...now, problem: undefined }));
    const problem = await resume(id);
    if (!problem) return;
    started.current.delete(id);
    change(id, (now) => ({ ...now, problem }));
  };
  useEffect(
    () =>
      client.payments.subscribe((all) => {
        old.current ??= new Set(all.filter(({ state }) => state === 'done').map(({ id }) => id));
        setList(all);
      }),
    [address],
  );
  useEffect(() => {
    // What was sent is only followed; the wallet is not asked without a word of its user.
    for (const payment of list)
      if (isSent(payment) && !started.current.has(payment.id)) void follow(payment.id);
  }, [list]);
  useEffect(() => {
    for (const payment of list)
      if (payment.arrived && !arrived.current.has(payment.id)) {
        arrived.current.add(payment.id);
        onArrived(payment);
        // Done before this visit, so the user need not see it again.
        if (old.current?.has(payment.id)) void client.payments.dismiss(payment.id);
      }
  }, [list]);

  const payments = list.map((payment): ShownPayment => {
    const { steps, problem } = here.get(payment.id) ?? { steps: payment.step ? [payment.step] : [] };
    const { failure } = payment;
    const kept = failure && { code: failure.code, text: textOf(failure.code, failure.message) };
    const waits = isUnderWay(payment) && !isSent(payment) && !started.current.has(payment.id);
    const now = payment.state === 'failed' ? (problem ?? kept) : waits ? problem : undefined;
    return { payment, steps, problem: now, waits };
  });
  // Another tab may have removed what this one shows.
  const found = payments.find(({ payment }) => payment.id === shownId) ?? last.current;
  last.current = found?.payment.id === shownId ? found : undefined;
  return {
    payments,
    shown: last.current,
    show,
    start: (pay) => run(pay, show),
    resume: (id) => void goOn(id),
    cancel: (id) => void client.payments.cancel(id),
    dismiss: (id) => {
      show(undefined);
      void client.payments.dismiss(id);
    },
  };
}

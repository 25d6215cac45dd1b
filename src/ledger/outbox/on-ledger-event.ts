import { SetMetadata } from '@nestjs/common';
import type { LedgerEvent, Topic } from './ledger-event';

export const LEDGER_EVENT_HANDLER = 'ledger event handler';

export interface ConsumerOptions {
  /**
   * The database stores the handler's progress under this name, for all processes together. A new name is a new
   * consumer, which starts anew.
   */
  consumer: string;
  /** Where a consumer starts that is new to the database; `beginning` is the oldest event still kept (seven days). */
  from?: 'now' | 'beginning';
  /**
   * An event that fails again and again is set aside (see `SetAsideRule`), and the consumer goes on. Otherwise it comes
   * again until it works, and nothing behind it before.
   */
  setsAside?: boolean;
}

export interface BatchOptions extends ConsumerOptions {
  /** The most events that the method gets at once. Progress is stored between two calls, and a stop waits for one. */
  most?: number;
}

export interface HandlerMetadata extends Required<BatchOptions> {
  topics: ReadonlySet<Topic>;
  /** The handler gets several events at once. */
  isBatched: boolean;
}

/** As many as a row of the outbox may have. */
const MOST = 1000;

/**
 * Calls a provider's method with every event of these topics, in order, one at a time, in one process. The same event
 * comes again if the method throws (with growing waits), or if the process ends before its progress is stored. The
 * method must therefore tolerate repetition. While replicas are replaced, those of the version before stop ahead of an
 * event whose topic they do not know, and leave it and what follows to the new ones (see `UnknownTopics`).
 */
export function OnLedgerEvent<Name extends Topic>(
  topics: Name | readonly Name[],
  options: ConsumerOptions,
): HandlerDecorator<LedgerEvent<Name>> {
  return handler({ ...DEFAULTS, ...options, ...ofTopics(topics), isBatched: false, most: 1 });
}

/**
 * Like `@OnLedgerEvent`, for methods that handle many events at the cost of one. Called with up to `most` events in order,
 * a thousand unless told. If it throws, half of them come again, then half of that, down to one, so that an event that
 * fails stops none before it; then it gets more again with each success.
 */
export function OnLedgerEvents<Name extends Topic>(
  topics: Name | readonly Name[],
  options: BatchOptions,
): HandlerDecorator<LedgerEvent<Name>[]> {
  return handler({ ...DEFAULTS, ...options, ...ofTopics(topics), isBatched: true });
}

const DEFAULTS = { from: 'now', setsAside: false, most: MOST } as const;
const ofTopics = (topics: Topic | readonly Topic[]): Pick<HandlerMetadata, 'topics'> => ({
  topics: new Set(typeof topics === 'string' ? [topics] : topics),
});

type HandlerDecorator<Given> = <Handler extends (given: Given) => unknown>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Handler>,
) => void;

const handler =
  (metadata: HandlerMetadata): HandlerDecorator<never> =>
  (target, key, descriptor) => {
    SetMetadata(LEDGER_EVENT_HANDLER, metadata)(target, key, descriptor as PropertyDescriptor);
  };

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
}

export interface HandlerMetadata extends Required<ConsumerOptions> {
  topics: ReadonlySet<Topic>;
  /** The handler gets all events of a row at once. */
  isBatched: boolean;
}

/**
 * Calls a provider's method with every event of these topics, in order, one at a time, in one process. The same event
 * comes again if the method throws (with growing waits), or if the process ends before its progress is stored. The
 * method must therefore tolerate repetition. While replicas are replaced, those of the version before stop ahead of an
 * event whose topic they do not know, and leave it and what follows to the new ones (see `UnknownTopics`).
 */
export function OnLedgerEvent<Name extends Topic>(
  topics: Name | readonly Name[],
  { consumer, from = 'now' }: ConsumerOptions,
): HandlerDecorator<LedgerEvent<Name>> {
  return handler({ consumer, from, topics: new Set([topics].flat() as Name[]), isBatched: false });
}

/**
 * Like `@OnLedgerEvent`, for methods that handle many events at the cost of one. Called with up to a thousand events in
 * order; all of them come again if it throws.
 */
export function OnLedgerEvents<Name extends Topic>(
  topics: Name | readonly Name[],
  { consumer, from = 'now' }: ConsumerOptions,
): HandlerDecorator<LedgerEvent<Name>[]> {
  return handler({ consumer, from, topics: new Set([topics].flat() as Name[]), isBatched: true });
}

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

import { SetMetadata } from '@nestjs/common';
import type { LedgerEvent, Topic } from './ledger-event';

export const LEDGER_EVENT_HANDLER = 'ledger event handler';

export interface ConsumerOptions {
  /**
   * Under this name the database keeps how far the handler has read, for all processes together. Another name is
   * another consumer, which begins anew.
   */
  consumer: string;
  /** Where a consumer begins that the database does not know yet; `beginning` is what is kept, seven days. */
  from?: 'now' | 'beginning';
}

export interface HandlerMetadata extends Required<ConsumerOptions> {
  topics: ReadonlySet<Topic>;
  /** Gets all events of a row at once. */
  isBatched: boolean;
}

/**
 * Has a provider's method called with every event of these topics, in order, one at a time, in one process. Called
 * again with the same event if it throws, with growing waits, and if its process ends before the position is stored,
 * so it has to bear a repetition.
 */
export function OnLedgerEvent<Name extends Topic>(
  topics: Name | readonly Name[],
  { consumer, from = 'now' }: ConsumerOptions,
): HandlerDecorator<LedgerEvent<Name>> {
  return handler({ consumer, from, topics: new Set([topics].flat() as Name[]), isBatched: false });
}

/**
 * As `@OnLedgerEvent`, for methods that handle many events for the price of one: called with up to a thousand, in
 * order, which all come again if it throws.
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

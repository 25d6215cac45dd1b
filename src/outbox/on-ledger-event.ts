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
}

/**
 * Has a provider's method called with every event of these topics, in order, one at a time, in one process. Called
 * again with the same event if it throws, with growing waits, and if its process ends before the position is stored,
 * so it has to bear a repetition.
 */
export function OnLedgerEvent<Name extends Topic>(
  topics: Name | readonly Name[],
  { consumer, from = 'now' }: ConsumerOptions,
): <Handler extends (event: LedgerEvent<Name>) => unknown>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Handler>,
) => void {
  const metadata: HandlerMetadata = { consumer, from, topics: new Set([topics].flat() as Name[]) };
  return (target, key, descriptor) => {
    SetMetadata(LEDGER_EVENT_HANDLER, metadata)(target, key, descriptor as PropertyDescriptor);
  };
}

import type { DiscoveryService } from '@nestjs/core';
import type { LedgerEvent } from './ledger-event';
import { type ConsumerOptions, OnLedgerEvent, findHandlers } from './on-ledger-event';

const maybe: ConsumerOptions & { most?: number } = { consumer: 'maybe', most: 2 };

class Handlers {
  readonly given: unknown[] = [];

  @OnLedgerEvent('pool.created', { consumer: 'alone', most: undefined })
  alone(event: LedgerEvent): void {
    this.given.push(event);
  }

  @OnLedgerEvent('pool.created', { consumer: 'batch', most: 1 })
  batch(events: LedgerEvent[]): void {
    this.given.push(events);
  }

  // @ts-expect-error the compiler has to know whether the method gets an array
  @OnLedgerEvent('pool.created', maybe)
  maybe(event: LedgerEvent): void {
    this.given.push(event);
  }
}

it('gives a method arrays only if its options have `most`', () => {
  const instance = new Handlers();
  const provider = { metatype: Handlers, instance, isDependencyTreeStatic: () => true };
  const found = findHandlers({ getProviders: () => [provider] } as unknown as DiscoveryService);
  expect(found.map(({ consumer, most }) => [consumer, most])).toEqual([
    ['alone', 1],
    ['batch', 1],
    ['maybe', 2],
  ]);
  const event = { id: '1' } as LedgerEvent;
  for (const { handle } of found.slice(0, 2)) handle([event]);
  expect(instance.given).toEqual([event, [event]]);
});

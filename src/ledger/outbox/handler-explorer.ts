import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import type { LedgerEvent } from './ledger-event';
import { type HandlerMetadata, LEDGER_EVENT_HANDLER } from './on-ledger-event';

export interface EventHandler extends HandlerMetadata {
  /** Gets at least one event, and only one unless it is batched. */
  handle: (events: LedgerEvent[]) => unknown;
}

type Instance = Record<string, (given: LedgerEvent | LedgerEvent[]) => unknown>;

/** Finds the methods of all providers that are marked with `@OnLedgerEvent`. */
@Injectable()
export class HandlerExplorer {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
  ) {}

  /** @throws Error when two handlers have the same consumer, or a provider is created for each request */
  find(): EventHandler[] {
    const handlers = new Map<string, EventHandler>();
    for (const wrapper of this.discovery.getProviders()) {
      const { metatype } = wrapper;
      // Factories return providers that are registered elsewhere, or objects that are not ours.
      if (typeof metatype !== 'function' || !metatype.prototype) continue;
      const prototype = metatype.prototype as Instance;
      for (const method of this.scanner.getAllMethodNames(prototype)) {
        const metadata = this.reflector.get<HandlerMetadata | undefined>(
          LEDGER_EVENT_HANDLER,
          prototype[method],
        );
        if (!metadata) continue;
        const place = `${metatype.name}.${method}`;
        if (!wrapper.isDependencyTreeStatic())
          throw new Error(`${place}: a handler's provider is a singleton`);
        if (handlers.has(metadata.consumer))
          throw new Error(`${place}: another handler is the consumer "${metadata.consumer}" already`);
        const instance = wrapper.instance as Instance;
        const handle = (events: LedgerEvent[]): unknown =>
          instance[method](metadata.isBatched ? events : events[0]);
        handlers.set(metadata.consumer, { ...metadata, handle });
      }
    }
    return [...handlers.values()];
  }
}

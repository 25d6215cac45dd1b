import { SetMetadata } from '@nestjs/common';
import { type DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import type { LedgerEvent, Topic } from './ledger-event';

const LEDGER_EVENT_HANDLER = 'ledger event handler';

export interface ConsumerOptions {
  /**
   * The database stores the handler's progress under this name, for all processes together. A new name is a new
   * consumer, which starts over.
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

interface BatchOptions extends ConsumerOptions {
  /**
   * The method gets an array of up to this many events, in order. If it throws, each of them comes again alone, so that
   * an event that fails stops none before it. Progress is stored between two calls, and a stop waits for one.
   */
  most: number;
}

export interface EventHandler extends Required<BatchOptions> {
  topics: ReadonlySet<Topic>;
  /** Gets at least one event, and `most` at most. */
  handle: (events: LedgerEvent[]) => unknown;
}

type Instance = Record<string, (given: LedgerEvent | LedgerEvent[]) => unknown>;
type HandlerMetadata = Omit<EventHandler, 'handle'> & { isBatched: boolean };
type HandlerDecorator<Given> = <Handler extends (given: Given) => unknown>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Handler>,
) => void;

/**
 * Calls a provider's method with every event of these topics, in order, one at a time (or `most`), in one process. The
 * same event comes again if the method throws (with growing waits), or if the process ends before its progress is
 * stored. The method must therefore tolerate repetition. While replicas are replaced, those of the version before stop
 * ahead of an event whose topic they do not know, and leave it and what follows to the new ones (see `UnknownTopics`).
 */
export function OnLedgerEvent<Name extends Topic>(
  topics: Name | readonly Name[],
  options: BatchOptions,
): HandlerDecorator<LedgerEvent<Name>[]>;
export function OnLedgerEvent<Name extends Topic>(
  topics: Name | readonly Name[],
  options: ConsumerOptions & { most?: undefined },
): HandlerDecorator<LedgerEvent<Name>>;
export function OnLedgerEvent(
  topics: Topic | readonly Topic[],
  { most, ...options }: ConsumerOptions & { most?: number },
): MethodDecorator {
  const given = { topics: new Set([topics].flat()), most: most ?? 1, isBatched: most !== undefined };
  const metadata: HandlerMetadata = { from: 'now', setsAside: false, ...options, ...given };
  return SetMetadata(LEDGER_EVENT_HANDLER, metadata);
}

/**
 * The methods of all providers that are marked with this decorator.
 * @throws Error when two handlers have the same consumer, or a provider is created for each request
 */
export function findHandlers(discovery: DiscoveryService): EventHandler[] {
  const [scanner, reflector] = [new MetadataScanner(), new Reflector()];
  const handlers = new Map<string, EventHandler>();
  for (const wrapper of discovery.getProviders()) {
    const { metatype } = wrapper;
    // Factories return providers that are registered elsewhere, or objects that are not ours.
    if (typeof metatype !== 'function' || !metatype.prototype) continue;
    const prototype = metatype.prototype as Instance;
    for (const method of scanner.getAllMethodNames(prototype)) {
      const metadata = reflector.get<HandlerMetadata | undefined>(LEDGER_EVENT_HANDLER, prototype[method]);
      if (!metadata) continue;
      const place = `${metatype.name}.${method}`;
      if (!wrapper.isDependencyTreeStatic()) throw new Error(`${place}: a handler's provider is a singleton`);
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

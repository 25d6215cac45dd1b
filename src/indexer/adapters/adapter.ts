import { MetadataScanner } from '@nestjs/core';
import { type Hex, type AbiEvent, toEventSelector } from 'viem';
import type { Happening } from '#ledger/adapters/happening';
import { CONTRACT_EVENT, POOL_CONTRACT, type PoolContractOptions } from '#ledger/adapters/pool-contract';
import { type Layout, type Parameters, layoutOf } from './parameters';

/** An event that an adapter reads. */
export interface AdaptedEvent {
  name: string;
  /** Class and method. */
  place: string;
  read: Layout['read'];
  /** Its number among the contract's events. */
  number: ReturnType<Layout['numberAt']>;
  /** What happened. May throw what the adapter throws. */
  translate: (parameters: Parameters) => Happening;
}

/** What the indexer knows of the contracts of one kind. */
export interface Adapter extends Pick<PoolContractOptions, 'name' | 'types'> {
  className: string;
  /** By first topic. */
  events: ReadonlyMap<string, AdaptedEvent>;
}

const scanner = new MetadataScanner();

/** What its decorators say of an object. @returns undefined if its class is no adapter @throws Error if it is none that works */
export function adapterOf(instance: object): Adapter | undefined {
  const { constructor } = instance;
  const options = Reflect.getMetadata(POOL_CONTRACT, constructor) as PoolContractOptions | undefined;
  if (!options) return undefined;
  const { name, types, abi, numberedBy } = options;
  const className = constructor.name;
  const events = new Map<Hex, AdaptedEvent>();
  const methods = instance as Record<string, AdaptedEvent['translate']>;
  for (const method of scanner.getAllMethodNames(Object.getPrototypeOf(instance) as object)) {
    const event = Reflect.getMetadata(CONTRACT_EVENT, methods[method]) as string | undefined;
    if (event === undefined) continue;
    const place = `${className}.${method}`;
    const item = eventIn(abi, event, place);
    const topic = toEventSelector(item);
    if (events.has(topic)) throw new Error(`${place}: another method reads ${event} already`);
    if (!hasParameter(item, numberedBy))
      throw new Error(`${place}: ${event} has no parameter ${numberedBy}, by which it would be numbered`);
    const { read, numberAt } = layoutOf(item);
    const translate = methods[method].bind(instance);
    events.set(topic, { name: event, place, read, number: numberAt(numberedBy), translate });
  }
  for (const item of abi)
    if (item.type === 'event' && hasParameter(item, numberedBy) && !events.has(toEventSelector(item)))
      throw new Error(`${className}: no method reads ${item.name}, so its number would be missing`);
  return { className, name, types, events };
}

const hasParameter = ({ inputs }: AbiEvent, name: string): boolean =>
  inputs.some((input) => input.name === name);

function eventIn(abi: PoolContractOptions['abi'], name: string, place: string): AbiEvent {
  const found = abi.filter((item): item is AbiEvent => item.type === 'event' && item.name === name);
  if (found.length !== 1) throw new Error(`${place}: the ABI has ${found.length} events ${name}`);
  const [item] = found;
  if (item.anonymous || item.inputs.some((input) => !input.name))
    throw new Error(`${place}: ${name} is anonymous, or has parameters without a name`);
  return item;
}

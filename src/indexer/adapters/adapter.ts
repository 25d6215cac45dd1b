import { MetadataScanner } from '@nestjs/core';
import { type Abi, type AbiEvent, type AbiFunction, type Hex, toEventSelector, zeroAddress } from 'viem';
import { ADDRESS } from '#values/rules';
import type { Happening } from '#ledger/adapters/happening';
import { type CallValues, encodeCall, readCall, readView } from '#ledger/adapters/own-call';
import {
  CONTRACT_EVENT,
  type NativeCoin,
  POOL_CONTRACT,
  type PoolContractOptions,
  type PoolsBy,
} from '#ledger/adapters/pool-contract';
import { ReferencePool } from '#ledger/adapters/reference/reference-pool';
import { type Parameters, type ReadParameters, readerOf } from './parameters';

/** An event that an adapter reads. */
export interface AdaptedEvent {
  name: string;
  item: AbiEvent;
  /** Class and method. */
  place: string;
  read: ReadParameters;
  /** The parameter with its number among the contract's events, if the contract numbers them. */
  numberedBy?: string;
  /** What happened, if anything did. May throw what the adapter throws. */
  translate: (parameters: Parameters) => Happening | Happening[] | undefined;
}

/** What the indexer knows of the contracts of one kind. */
export interface Adapter extends Pick<PoolContractOptions, 'name' | 'types' | 'token' | 'views' | 'calls'> {
  className: string;
  /** The class as which `verify` compares its events, or `class X` if only that class knows their meaning. */
  verifiedAs: string;
  poolsBy: PoolsBy;
  isNumbered: boolean;
  /** Items of its ABI. */
  errors: Extract<Abi[number], { type: 'error' }>[];
  /** By first topic. */
  events: ReadonlyMap<string, AdaptedEvent>;
}

const scanner = new MetadataScanner();

/** What its decorators say of an object. @returns undefined if its class is no adapter @throws Error if it is none that works */
export function adapterOf(instance: object): Adapter | undefined {
  const { constructor } = instance;
  const options = Reflect.getMetadata(POOL_CONTRACT, constructor) as PoolContractOptions | undefined;
  if (!options) return undefined;
  const { name, types, abi, numberedBy, poolsBy = 'reference', token, views } = options;
  // No other contract has the calls and the yield of the reference contracts unless its adapter says so.
  const { calls = instance instanceof ReferencePool ? undefined : {} } = options;
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
    if (numberedBy !== undefined && !hasParameter(item, numberedBy))
      throw new Error(`${place}: ${event} has no parameter ${numberedBy}, by which it would be numbered`);
    const read = readerOf(item);
    const translate = methods[method].bind(instance);
    events.set(topic, { name: event, item, place, read, numberedBy, translate });
  }
  for (const item of numberedBy === undefined ? [] : abi)
    if (item.type === 'event' && hasParameter(item, numberedBy!) && !events.has(toEventSelector(item)))
      throw new Error(`${className}: no method reads ${item.name}, so its number would be missing`);
  for (const use of Object.entries({ ...views, ...calls })) requireFitting(use, poolsBy, className);
  if (typeof token === 'object') requireCoin(token, className);
  else if (
    token !== undefined &&
    !ADDRESS.test(token) &&
    readCall(token, `${className}: token`).inputs.length > 0
  )
    throw new Error(`${className}: token: ${token} has parameters`);
  const verifiedAs = comparedAs(instance) ?? `class ${className}`;
  const isNumbered = numberedBy !== undefined;
  const errors = abi.filter((item) => item.type === 'error');
  return { className, verifiedAs, name, types, token, views, calls, poolsBy, isNumbered, errors, events };
}

function requireCoin({ symbol, decimals }: NativeCoin, className: string): void {
  if (!/^\S{1,32}$/.test(symbol)) throw new Error(`${className}: token: "${symbol}" is no symbol`);
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 255)
    throw new Error(`${className}: token: ${decimals} are no decimals`);
}

/** Goes by the class that defines the methods: one that changes a method may change the meaning of events. */
function comparedAs(instance: object): PoolContractOptions['verifiedAs'] {
  let prototype = Object.getPrototypeOf(instance) as object;
  while (Object.getOwnPropertyNames(prototype).length === 1)
    prototype = Object.getPrototypeOf(prototype) as object;
  const options = Reflect.getOwnMetadata(POOL_CONTRACT, prototype.constructor) as
    PoolContractOptions | undefined;
  return options?.verifiedAs;
}

/** What an adapter may call the pool, by how the contract knows it. */
const POOL: Record<PoolsBy, CallValues['pool']> = {
  reference: `0x${'0'.repeat(32)}`,
  number: 1n,
  account: zeroAddress,
  contract: zeroAddress,
};

/** @throws Error if a view, or a call, has no parameters of these names and types */
function requireFitting([use, signature]: [string, string], poolsBy: PoolsBy, className: string): void {
  const place = `${className}: ${use}`;
  const [pool, account, amount] = [POOL[poolsBy], zeroAddress, 1n];
  const views: Record<string, Partial<CallValues>> = {
    balance: { pool, account },
    total: { pool },
    price: { amount },
  };
  const values = views[use] ?? { pool, account, amount };
  const item = use in views ? readView(signature, place) : readCall(signature, place);
  const stranger = item.inputs.find(({ name }) => !Object.hasOwn(values, name!))?.name;
  const names = Object.keys(values).join(', ');
  if (stranger) throw new Error(`${place}: ${signature} has the parameter ${stranger}: only ${names}`);
  if (use === 'balance' && poolsBy !== 'account' && !hasParameter(item, 'account'))
    throw new Error(`${place}: ${signature} has no parameter account`);
  try {
    encodeCall(item, values);
  } catch (error) {
    const [reason] = (error as Error).message.split('\n');
    throw new Error(`${place}: ${signature} does not take ${names}: ${reason}`, { cause: error });
  }
}

const hasParameter = ({ inputs }: AbiEvent | AbiFunction, name: string): boolean =>
  inputs.some((input) => input.name === name);

function eventIn(abi: PoolContractOptions['abi'], name: string, place: string): AbiEvent {
  const found = abi.filter((item): item is AbiEvent => item.type === 'event' && item.name === name);
  if (found.length !== 1) throw new Error(`${place}: the ABI has ${found.length} events ${name}`);
  const [item] = found;
  if (item.anonymous || item.inputs.some((input) => !input.name))
    throw new Error(`${place}: ${name} is anonymous, or has parameters without a name`);
  return item;
}

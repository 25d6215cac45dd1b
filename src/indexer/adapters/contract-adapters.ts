import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { IndexerSettings } from '#settings/indexer.settings';
import type { DecodeLog } from '#indexer/reading/decode';
import { type Adapter, adapterOf } from './adapter';
import { decoderOf } from './decoder';

/** Finds the providers of all modules that are marked with `@PoolContract`, and gives each contract its adapter. */
@Injectable()
export class ContractAdapters implements OnModuleInit {
  private decoder: DecodeLog;
  private byAddress: ReadonlyMap<string, Adapter> = new Map();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly settings: IndexerSettings,
  ) {}

  /** Not before the module has started. */
  readonly decode: DecodeLog = (log, time) => this.decoder(log, time);

  /** The adapter of a followed contract. Undefined before the module has started. */
  readonly of = (contract: string): Adapter | undefined => this.byAddress.get(contract);

  /** @throws Error when POOL_CONTRACTS names an adapter that is not there, and when an adapter is not as it must be */
  onModuleInit(): void {
    const found = this.discovery.getProviders().flatMap((wrapper): Adapter[] => {
      const instance = wrapper.instance as unknown;
      // Factories return providers that are registered elsewhere, or objects that are not ours.
      const isClass = typeof wrapper.metatype === 'function' && Boolean(wrapper.metatype.prototype);
      const adapter = isClass && typeof instance === 'object' && instance !== null && adapterOf(instance);
      return adapter ? [adapter] : [];
    });
    this.byAddress = adaptersByAddress(this.settings.POOL_CONTRACTS, found);
    this.decoder = decoderOf(this.byAddress);
  }
}

/** @throws Error */
export function adaptersByAddress(
  contracts: IndexerSettings['POOL_CONTRACTS'],
  adapters: Adapter[],
): Map<string, Adapter> {
  const byAddress = new Map<string, Adapter>();
  for (const [type, addresses] of contracts)
    for (const address of addresses) {
      const name = contracts.adapters.get(address);
      const place = `POOL_CONTRACTS: ${type}${name === undefined ? '' : `:${name}`}=${address}`;
      const fitting = adapters.filter((each) => each.types.includes(type));
      const [adapter, ...others] = fitting.filter((each) => each.name === name);
      if (!adapter) {
        const names = fitting.map((each) => each.name).filter((each) => each !== undefined);
        throw new Error(
          `${place}: no such adapter for this type. Its names are: ${names.join(', ') || 'none'}`,
        );
      }
      if (others.length > 0)
        throw new Error(`${place}: ${[adapter, ...others].map((each) => each.className).join(' or ')}?`);
      const known = byAddress.get(address) ?? adapter;
      if (known !== adapter)
        throw new Error(`${place}: ${adapter.className}, but for another type ${known.className}`);
      byAddress.set(address, adapter);
    }
  return byAddress;
}

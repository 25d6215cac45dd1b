import { Transform } from 'class-transformer';
import { IsInstance, IsNotEmpty, IsOptional } from 'class-validator';
import { ADDRESS } from '#values/rules';
import { POOL_TYPES, type PoolType } from '#values/types';
import { ProcessSettings } from '#platform/config/process.settings';
import { Integer, Setting } from '#platform/config/settings';
import { rpcEndpoints } from './endpoints';

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/**
 * The addresses of the contracts of each pool type. One of another adapter than the type's own has its name before the
 * address: `cooperative:vault=0x…`. One that new pools may ask for has a plus: `cooperative:vault+=0x…`.
 */
export class PoolContracts extends Map<PoolType, string[]> {
  /** The names of the adapters, by address. An address without one has the adapter of its types. */
  readonly adapters = new Map<string, string>();
  private readonly further = new Map<PoolType, string[]>();

  /** The one of new pools that ask for none. Null: there are no such pools of the type here. */
  newest(type: PoolType): string | null {
    return this.get(type)!.findLast((address) => !this.furtherOf(type).includes(address)) ?? null;
  }

  /** Those that new pools may ask for beside the newest. */
  furtherOf(type: PoolType): readonly string[] {
    return this.further.get(type) ?? [];
  }

  /** Those of which the pools stay, and which get no new ones. */
  formerOf(type: PoolType): string[] {
    const open = [this.newest(type), ...this.furtherOf(type)];
    return this.get(type)!.filter((address) => !open.includes(address));
  }

  add(type: PoolType, address: string, isFurther: boolean): void {
    this.get(type)!.push(address);
    if (isFurther) this.further.set(type, [...this.furtherOf(type), address]);
  }
}

export class ChainSettings extends ProcessSettings {
  static override readonly title: string = 'Chain';

  /** One address, or several separated by commas. See `rpcEndpoints`. */
  @Setting(
    'JSON-RPC endpoints of the chain, the preferred one first; each may hold user and password. The indexer reads it; the API asks it when contract wallets (EIP-1271, ERC-6492) sign in, and whether contracts with calls of their own take these.',
    {
      readBy: ['API', 'indexer', 'verify', 'keeper'],
      form: 'list of http(s) addresses',
      unset: 'contract wallets cannot sign in; indexer and keeper need it',
      example: 'http://localhost:8545',
    },
  )
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (areEndpoints(value) ? value : ''))
  @IsNotEmpty({ message: 'must be an http(s) address, or several separated by commas' })
  RPC_URL?: string;

  @Setting('Sign-in messages for another chain are refused. Production needs it.', {
    readBy: ['API', 'indexer', 'keeper'],
    unset: 'any chain',
    example: '1',
  })
  @IsOptional()
  @Integer(1)
  CHAIN_ID?: number;

  @Setting(
    'Contracts of each pool type. There are no pools of a type that is not named. A type may be named several times: all are followed, and new pools get the last. One with a plus (`type+=0x…`) they get only if they ask for it (`contract` of POST /pools). Production needs it.',
    {
      readBy: ['API', 'indexer', 'verify', 'keeper'],
      form: `\`${POOL_TYPES.map((type) => `${type}=0x…`).join()}\``,
      unset: 'zero addresses',
      example: POOL_TYPES.map((type, at) => `${type}=0x${`${at + 1}`.padStart(40, '0')}`).join(),
    },
  )
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? parseContracts(value) : value))
  @IsInstance(PoolContracts, {
    message: `must name one or more addresses, each once for a pool type: ${POOL_TYPES.map((type) => `${type}=0x…`).join()}`,
  })
  POOL_CONTRACTS = new PoolContracts(POOL_TYPES.map((type) => [type, [ZERO_ADDRESS]]));

  static problems({ NODE_ENV, POOL_CONTRACTS }: ChainSettings, wrong: (name: string) => boolean): string[] {
    const isNeeded = NODE_ENV === 'production' && !wrong('POOL_CONTRACTS');
    return isNeeded && [...POOL_CONTRACTS.values()].flat().includes(ZERO_ADDRESS)
      ? ['POOL_CONTRACTS is required in production']
      : [];
  }
}

/** @returns a problem if a setting names a contract that is not followed @param named what it names, once it is read */
export function strangersIn(
  name: string,
  named: () => ReadonlyMap<string, unknown>,
  { POOL_CONTRACTS }: Pick<ChainSettings, 'POOL_CONTRACTS'>,
  wrong: (name: string) => boolean,
): string[] {
  if (wrong(name) || wrong('POOL_CONTRACTS')) return [];
  const followed = new Set([...POOL_CONTRACTS.values()].flat());
  const areFollowed = [...named().keys()].every((address) => followed.has(address));
  return areFollowed ? [] : [`${name} names a contract that POOL_CONTRACTS does not name`];
}

/**
 * A contract may serve several types: its events name the pool, and pools know their type.
 * @returns null if the text is not a list of types and addresses, repeats an address for a type, or names two adapters for
 * one address
 */
function parseContracts(text: string): PoolContracts | null {
  const contracts = new PoolContracts(POOL_TYPES.map((type) => [type, []]));
  const adapters = new Map<string, string | undefined>();
  for (const pair of text.split(',')) {
    const [named, address = '', ...rest] = pair.split('=').map((part) => part.trim().toLowerCase());
    const [, type, adapter, plus] = /^([a-z]+)(?::([a-z][a-z0-9-]*))?\s*(\+?)$/.exec(named) ?? [];
    const addresses = contracts.get(type as PoolType);
    const fits = ADDRESS.test(address) && rest.length === 0;
    if (!addresses || !fits || addresses.includes(address)) return null;
    if (adapters.has(address) && adapters.get(address) !== adapter) return null;
    contracts.add(type as PoolType, address, plus === '+');
    adapters.set(address, adapter);
    if (adapter !== undefined) contracts.adapters.set(address, adapter);
  }
  return contracts;
}

function areEndpoints(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    return rpcEndpoints(value).every(({ url }) => /^https?:/.test(url));
  } catch {
    return false;
  }
}

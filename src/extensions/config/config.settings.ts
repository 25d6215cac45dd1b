import { Transform } from 'class-transformer';
import { IsObject, IsOptional, IsString, MaxLength } from 'class-validator';
import { ProcessSettings } from '#platform/config/process.settings';
import { List, Setting } from '#platform/config/settings';
import type { ChainSettings } from '#ledger/chain/chain.settings';
import { isLoopback, rpcEndpoints } from '#ledger/chain/endpoints';
import type { ChainCurrency } from './config.dto';

/** Data of the chain for wallets. Unset: what is known of the chain by its id. */
export class ClientConfigSettings extends ProcessSettings {
  static override readonly title = 'Chain data for wallets';

  @Setting('What `/config` tells wallets that do not know the chain: its name.', {
    readBy: ['API'],
    form: 'at most 50 characters',
    unset: 'known for usual chains',
    example: 'Example Chain',
  })
  @IsOptional()
  @IsString()
  @MaxLength(50)
  CHAIN_NAME?: string;

  @Setting(
    'Nodes that anyone may use, for wallets. An address of `RPC_URL` with a path is refused, as that may be a key.',
    {
      readBy: ['API'],
      form: 'list of https addresses',
      unset: 'known for usual chains',
      example: 'https://rpc.example.org',
    },
  )
  @List()
  @IsString({ each: true })
  PUBLIC_RPC_URLS: string[] = [];

  @Setting('The explorer, for wallets.', {
    readBy: ['API'],
    form: 'https address',
    unset: 'known for usual chains',
    example: 'https://explorer.example.org',
  })
  @IsOptional()
  @IsString()
  EXPLORER_URL?: string;

  @Setting('What fees are paid in.', {
    readBy: ['API'],
    form: 'name, symbol, decimals: `Ether,ETH,18`',
    unset: 'known for usual chains',
    example: 'Ether,ETH,18',
  })
  @IsOptional()
  @Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? (parseCurrency(value) ?? '') : value,
  )
  @IsObject({ message: 'must be name, symbol and decimals, such as Ether,ETH,18' })
  CHAIN_CURRENCY?: ChainCurrency;

  static problems(
    settings: ClientConfigSettings & Pick<ChainSettings, 'RPC_URL'>,
    wrong: (name: string) => boolean,
  ): string[] {
    const { NODE_ENV, PUBLIC_RPC_URLS, EXPLORER_URL, RPC_URL } = settings;
    const isHttpAllowed = NODE_ENV !== 'production';
    const problems: string[] = [];
    if (!PUBLIC_RPC_URLS.every((address) => isPublicAddress(address, isHttpAllowed)))
      problems.push(`PUBLIC_RPC_URLS must be ${PUBLIC_ADDRESS}s, separated by commas`);
    else if (RPC_URL && !wrong('RPC_URL') && PUBLIC_RPC_URLS.some((address) => mayTellKey(address, RPC_URL)))
      problems.push('PUBLIC_RPC_URLS must not repeat an address of RPC_URL, whose path may be a key');
    if (EXPLORER_URL !== undefined && !isPublicAddress(EXPLORER_URL, isHttpAllowed))
      problems.push(`EXPLORER_URL must be an ${PUBLIC_ADDRESS}`);
    return problems;
  }
}

const PUBLIC_ADDRESS = 'https address without user and password (http for this machine, or in development)';

function isPublicAddress(address: string, isHttpAllowed: boolean): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, username, password, hostname } = new URL(address);
  if (username || password) return false;
  return protocol === 'https:' || (protocol === 'http:' && (isHttpAllowed || isLoopback(hostname)));
}

/** Whether the address is one of the service's own and has more than the node's host. */
const mayTellKey = (address: string, own: string): boolean =>
  rpcEndpoints(own).some(({ url }) => keyOf(url) !== '' && keyOf(url) === keyOf(address));

/** Host and what may be a key. A node accepts it with another scheme or port, and with more slashes. */
function keyOf(address: string): string {
  const { hostname, pathname, search } = new URL(address);
  const key = pathname.split('/').filter(Boolean).join('/') + search;
  return key && `${hostname}/${key}`;
}

function parseCurrency(text: string): ChainCurrency | null {
  const [, name, symbol, decimals] =
    /^\s*([^,]{1,50}?)\s*,\s*([\w.-]{1,11})\s*,\s*(\d{1,2})\s*$/.exec(text) ?? [];
  return name === undefined ? null : { name, symbol, decimals: Number(decimals) };
}

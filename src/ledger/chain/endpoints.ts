/** A JSON-RPC endpoint of the chain, ready for fetch. */
export interface RpcEndpoint {
  /** Without user and password, which fetch refuses in an address. */
  url: string;
  /** Basic authentication (RFC 7617) if the address has a user or password. */
  headers: Record<string, string>;
  /** For logs and metrics, different for each: the host only, as paths and queries of providers hold API keys. */
  name: string;
  /** Calls that it may be sent in a second; unset: any number. */
  perSecond?: number;
  /** How long to wait for an answer about final blocks, which may be large; unset: as for others. */
  historyMs?: number;
}

/**
 * Parses `RPC_URL`: addresses separated by commas, the preferred one first.
 * @param perSecond of `RPC_REQUESTS_PER_SECOND`: one number for each address, or one for all
 */
export function rpcEndpoints(addresses: string, perSecond: number[] = []): RpcEndpoint[] {
  const named = new Map<string, number>();
  return addresses.split(',').map((address, i): RpcEndpoint => {
    const url = new URL(address.trim());
    const times = (named.get(url.host) ?? 0) + 1;
    named.set(url.host, times);
    const credentials = [url.username, url.password].map(decodeURIComponent).join(':');
    url.username = url.password = '';
    return {
      url: url.href,
      headers: credentials === ':' ? {} : { authorization: `Basic ${encode(credentials)}` },
      name: times > 1 ? `${url.host}#${times}` : url.host,
      perSecond: perSecond.length > 1 ? perSecond[i] : perSecond[0],
    };
  });
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
export const isLoopback = (hostname: string): boolean => LOOPBACK.test(hostname);

/**
 * The RPC address of a chain on this machine, for developers' wallets. Any other address may contain an API key, even
 * in its path.
 */
export function localRpcUrl({
  NODE_ENV,
  RPC_URL,
}: {
  NODE_ENV: string;
  RPC_URL?: string;
}): string | undefined {
  if (NODE_ENV !== 'development' || !RPC_URL) return undefined;
  const [{ url, headers }] = rpcEndpoints(RPC_URL);
  const { hostname, pathname, search, hash, origin } = new URL(url);
  const isPlain = pathname === '/' && search === '' && hash === '' && Object.keys(headers).length === 0;
  return isPlain && isLoopback(hostname) ? origin : undefined;
}

const encode = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

/** Shorter parts of an address are words such as `v2`, not keys. */
const SECRET_LENGTH = 8;

/**
 * What an endpoint says, without its user, its password and the parts of its address that may be API keys: some providers
 * repeat them in their errors.
 */
export function printable({ url, headers }: RpcEndpoint, text: string): string {
  const { pathname, search } = new URL(url);
  const basic = headers.authorization?.slice('Basic '.length) ?? '';
  const [, user, password] = /^([^:]*):?([^]*)$/.exec(Buffer.from(basic, 'base64').toString('utf8'))!;
  const keys = [...`${pathname}${search}`.split(/[/?&=]/), user].filter(
    ({ length }) => length >= SECRET_LENGTH,
  );
  const secrets = [...keys, basic, password].filter((secret) => secret !== '');
  // The longest first, as one may be a part of another.
  secrets.sort((a, b) => b.length - a.length);
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '…'), text);
}

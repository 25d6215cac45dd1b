import { rpcEndpoints } from '../chain/endpoints';

/** This machine only, unless HOST says otherwise: what is for trying out is not for the network. */
export const hostOf = ({ HOST }: NodeJS.ProcessEnv): string => HOST || '127.0.0.1';

export const portOf = ({ PORT }: NodeJS.ProcessEnv): number => Number(PORT || 3001);

/**
 * What API and indexer are started with.
 * @param given wins over what was made; an empty variable counts as not set
 */
export function settings(given: NodeJS.ProcessEnv, made: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const set = Object.entries(given).filter(([, value]) => value !== '');
  return { ...made, ...Object.fromEntries(set), HOST: hostOf(given) };
}

/** What `npm start` says when everything runs. Of addresses that were given, neither passwords nor keys are shown. */
export function announcement(given: NodeJS.ProcessEnv, { DATABASE_URL, RPC_URL }: NodeJS.ProcessEnv): string {
  const base = `http://localhost:${portOf(given)}`;
  const database = given.DATABASE_URL ? databaseName(given.DATABASE_URL) : DATABASE_URL;
  const chain = given.RPC_URL ? chainNames(given.RPC_URL) : RPC_URL;
  return `
  API       ${base}
  Docs      ${base}/docs
  Health    ${base}/health
  Database  ${database}
  Chain     ${chain ?? 'off: there is no anvil for this platform, see README'}

  Ctrl-C stops everything.
`;
}

function databaseName(address: string): string {
  try {
    const { protocol, host, pathname } = new URL(address);
    return `${protocol}//${host}${pathname}`;
  } catch {
    return 'the one in DATABASE_URL';
  }
}

const chainNames = (addresses: string): string =>
  rpcEndpoints(addresses)
    .map(({ name }) => name)
    .join(', ');

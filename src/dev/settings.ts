import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Client, escapeLiteral } from 'pg';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import type { LocalChain } from './chain';
import { REPOSITORY } from './files';
import { type Ports, hostOf, urlOf } from './ports';

/**
 * What suits development: a page that is developed is loaded more often than the limits of production allow one address,
 * and receivers of webhooks run on this machine, which production refuses.
 */
export const developing = ({ NODE_ENV }: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  RATE_LIMIT_GENERAL: '10000',
  RATE_LIMIT_AUTH: '100',
  ...(NODE_ENV !== 'production' && { WEBHOOK_ALLOW_PRIVATE: 'true' }),
});

/**
 * The environment of the API and the indexer.
 * @param given overrides what was made; an empty variable counts as not set
 */
export function settings(
  given: NodeJS.ProcessEnv,
  { api, indexer }: Pick<Ports, 'api' | 'indexer'>,
  made: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const set = Object.entries(given).filter(([, value]) => value !== '');
  const taken = { HOST: hostOf(given), PORT: `${api}`, INDEXER_PORT: `${indexer}` };
  return { ...made, ...Object.fromEntries(set), ...taken };
}

/**
 * The text that `npm start` prints when everything runs. It hides passwords and keys in addresses that were given.
 */
export function announcement(
  given: NodeJS.ProcessEnv,
  { PORT, INDEXER_PORT, DATABASE_URL, RPC_URL }: NodeJS.ProcessEnv,
  local?: LocalFacts,
  page?: string,
): string {
  const base = urlOf(given, PORT!);
  const database = given.DATABASE_URL ? databaseName(given.DATABASE_URL) : DATABASE_URL;
  const chain = given.RPC_URL ? chainNames(given.RPC_URL) : RPC_URL;
  return `${page ? `\n  Page      ${page}` : ''}
  API       ${base}
  Docs      ${base}/docs
  Health    ${base}/health
  Indexer   ${RPC_URL ? `${urlOf(given, INDEXER_PORT!)}/health` : 'off: without a chain there is nothing to read'}
  Database  ${database}
  Chain     ${chain ?? 'off: there is no anvil for this platform, see docs/walk.md'}
${local ? facts(local) : ''}
  Ctrl-C stops everything.
`;
}

/** What a developer needs of the local chain. Every anvil has the key, so it is no secret. */
export type LocalFacts = Pick<LocalChain, 'chainId' | 'deployment'> & {
  key: { address: string; privateKey: string };
};

function facts({ chainId, deployment: { token, contracts, further }, key }: LocalFacts): string {
  return `  Chain id  ${chainId}
  Token     ${token}
  Contracts
${Object.entries({ ...contracts, ...further })
  .map(([type, contract]) => `    ${type.padEnd(20)} ${contract}`)
  .join('\n')}
  An account with ether and tokens, for trying out; its key is public:
    address      ${key.address}
    private key  ${key.privateKey}
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

/** Accounts that deploy/postgres/roles.sql makes, by what they are for. */
const ACCOUNTS = {
  owner: 'savings',
  api: 'savings_api',
  indexer: 'savings_indexer',
  operator: 'savings_operator',
  read_only: 'savings_read_only',
} as const;
export type Role = keyof typeof ACCOUNTS;

/** Makes the accounts on the server of this connection, all with one password, as suits development and tests only. */
export async function makeRoles(client: Client, password: string): Promise<void> {
  await client.query(readFileSync(path.join(REPOSITORY, 'deploy/postgres/roles.sql'), 'utf8'));
  for (const account of Object.values(ACCOUNTS))
    await client.query(`ALTER ROLE ${account} PASSWORD ${escapeLiteral(password)}`);
}

/** The database of `url`, for the account of that role. */
export function urlAs(url: string, role: Role, password: string): string {
  const own = new URL(url);
  [own.username, own.password] = [ACCOUNTS[role], password];
  return own.href;
}

import { Transform, plainToInstance } from 'class-transformer';
import {
  IsBoolean,
  IsIn,
  IsInstance,
  IsInt,
  IsNotEmpty,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  MinLength,
  ValidateIf,
  getMetadataStorage,
  validateSync,
} from 'class-validator';
import { isIP } from 'node:net';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { POOL_TYPES, PoolType } from '#values/types';
import { isStrongSecret } from './secret';

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/** An empty variable counts as not set, because Kubernetes and compose files cannot unset one. */
const isSet = (value: unknown): boolean => value !== undefined && value !== '';

const Integer = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => {
    if (typeof value !== 'string') return value;
    return /^\d+$/.test(value) ? Number(value) : NaN;
  });

const Flag = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => {
    if (typeof value !== 'string') return value;
    return { true: true, '1': true, false: false, '0': false }[value] ?? value;
  });

const List = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string'
      ? value
          .split(',')
          .map((item) => item.trim())
          .filter(Boolean)
      : value,
  );

/**
 * Every setting of the service, read from the environment once at start. `.env.example` lists the same names.
 */
export class Environment {
  @IsIn(['development', 'test', 'production'])
  NODE_ENV: 'development' | 'test' | 'production' = 'development';

  @Integer() @IsInt() @Min(0) @Max(65535) PORT = 3001;

  @IsString() HOST = '0.0.0.0';

  @Matches(/^postgres(ql)?:\/\//, { message: 'must be a postgres:// address' })
  DATABASE_URL: string;

  /** Leads to standbys. Some reads go there; see `StandbyReads`. */
  @IsOptional()
  @Matches(/^postgres(ql)?:\/\//, { message: 'must be a postgres:// address' })
  DATABASE_READ_URL?: string;

  @Integer() @IsInt() @Min(2) @Max(500) DATABASE_POOL_SIZE = 20;

  /**
   * Statements that run longer than this many ms are cancelled. The service answers within 5 s whatever the database
   * does.
   */
  readonly statementTimeout: number = 4000;

  @IsOptional()
  @Matches(/^rediss?(\+sentinel|\+cluster)?:\/\//, { message: 'must be a redis:// or rediss:// address' })
  REDIS_URL?: string;

  /** One address, or several separated by commas. See `rpcEndpoints`. */
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (areEndpoints(value) ? value : ''))
  @IsNotEmpty({ message: 'must be an http(s) address, or several separated by commas' })
  RPC_URL?: string;

  @IsOptional() @Integer() @IsInt() @Min(1) CHAIN_ID?: number;

  /** The contract addresses of each pool type. The indexer follows all of them; new pools get the last one. */
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? parseContracts(value) : value))
  @IsInstance(Map, {
    message:
      'must name one or more addresses, each once, for every pool type: individual=0x…,cooperative=0x…,lottery=0x…,rotating=0x…',
  })
  POOL_CONTRACTS: Map<PoolType, string[]> = new Map(POOL_TYPES.map((type) => [type, [ZERO_ADDRESS]]));

  @Integer() @IsInt() @Min(0) START_BLOCK = 0;

  @Integer() @IsInt() @Min(0) @Max(64) CONFIRMATIONS = 0;

  /** Seconds. 0: any age is accepted. Unset: depends on the chain's own pace. See `SyncState`. */
  @IsOptional() @Integer() @IsInt() @Min(0) MAX_HEAD_AGE?: number;

  /** Seconds of block time. */
  @Integer() @IsInt() @Min(1) PENDING_DEPOSIT_TTL = 86_400;

  @IsOptional() @MinLength(32, { message: 'must be at least 32 bytes' }) JWT_SECRET: string;

  @IsOptional() @MinLength(32, { message: 'must be at least 32 bytes' }) JWT_PREVIOUS_SECRET?: string;

  @List() @IsString({ each: true }) SIWE_DOMAINS: string[] = [];

  @List() @IsString({ each: true }) CORS_ORIGINS: string[] = [];

  /** Addresses or CIDR ranges of the proxies whose X-Forwarded-For is trusted. */
  @List()
  @ValidateIf((environment: Environment) => !environment.TRUST_PROXY.every(isProxyRange))
  @IsIn([], { message: 'must list IP addresses or CIDR ranges' })
  TRUST_PROXY: string[] = [];

  @Integer() @IsInt() @Min(1) RATE_LIMIT_GENERAL = 100;

  @Integer() @IsInt() @Min(1) RATE_LIMIT_AUTH = 5;

  /** Seconds. */
  @Integer() @IsInt() @Min(1) @Max(86_400) RATE_LIMIT_WINDOW = 900;

  /** Smallest token units. */
  @Matches(/^\d{1,77}$/, { message: 'must be a whole number of smallest token units' })
  MIN_DEPOSIT = '10000000000000000000';

  @IsOptional() @MinLength(16) METRICS_TOKEN?: string;

  @Flag() @IsBoolean() LOTTERY_PUBLIC = false;

  /** Event streams that a user may have open at the same time in each process. */
  @Integer() @IsInt() @Min(1) @Max(1000) EVENT_STREAMS_PER_USER = 5;

  /** Allows webhooks to this machine and to private networks. */
  @Flag() @IsBoolean() WEBHOOK_ALLOW_PRIVATE = false;

  /** Serves the documentation page and the OpenAPI document. */
  @Flag() @IsBoolean() DOCS = true;

  @IsIn(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
  LOG_LEVEL = 'info';

  /** Seconds between the indexer's verification rounds. 0: none. */
  @Integer() @IsInt() @Min(0) @Max(86_400) VERIFY_INTERVAL = 60;

  /** Pools in a round, and also addresses in a round. */
  @Integer() @IsInt() @Min(1) @Max(10_000) VERIFY_POOLS = 20;

  /** Port of the indexer's own health and metrics server. */
  @Integer() @IsInt() @Min(0) @Max(65535) INDEXER_PORT = 3002;
}

/**
 * Names of all settings: every field with a rule. Other variables, such as secrets of other programs, are ignored.
 */
export const SETTINGS = [
  ...new Set(
    getMetadataStorage()
      .getTargetValidationMetadatas(Environment, '', false, false)
      .map(({ propertyName }) => propertyName),
  ),
].sort();

/** Settings that a process needs: always, or in production. */
const NEEDED: Record<'api' | 'indexer', Record<'always' | 'production', (keyof Environment)[]>> = {
  api: { always: ['JWT_SECRET'], production: ['CHAIN_ID', 'SIWE_DOMAINS', 'POOL_CONTRACTS'] },
  indexer: { always: ['RPC_URL'], production: ['POOL_CONTRACTS'] },
};

/**
 * Reads and checks the environment of a process.
 * @throws Error that names every wrong or missing variable, one per line, but never its value
 */
export function loadEnvironment(
  variables: NodeJS.ProcessEnv,
  process: keyof typeof NEEDED = 'api',
): Environment {
  const given = SETTINGS.filter((name) => isSet(variables[name])).map((name) => [name, variables[name]]);
  const environment = plainToInstance(Environment, Object.fromEntries(given), { exposeDefaultValues: true });
  const problems = validateSync(environment, { forbidUnknownValues: false }).map(
    ({ property, constraints, value }) =>
      value === undefined
        ? `${property} is required`
        : `${property} ${Object.values(constraints ?? {})
            .map((text) => text.replace(`${property} `, '').replace('each value in ', ''))
            .join(', ')}`,
  );
  const { always, production } = NEEDED[process];
  const missing = (name: keyof Environment): boolean => isMissing(environment[name]);
  problems.push(...always.filter(missing).map((name) => `${name} is required`));
  if (environment.NODE_ENV === 'production') {
    problems.push(...production.filter(missing).map((name) => `${name} is required in production`));
    problems.push(...weakSecrets(environment, problems));
    if (environment.WEBHOOK_ALLOW_PRIVATE === true)
      problems.push('WEBHOOK_ALLOW_PRIVATE is refused in production');
  }
  if (problems.length > 0) throw new Error(`Configuration is wrong:\n  ${problems.join('\n  ')}`);
  return environment;
}

/** Leaves out variables that already have another problem. */
const weakSecrets = (environment: Environment, problems: string[]): string[] =>
  (['JWT_SECRET', 'JWT_PREVIOUS_SECRET'] as const)
    .filter((name) => environment[name] && !problems.some((problem) => problem.startsWith(`${name} `)))
    .filter((name) => !isStrongSecret(environment[name] ?? ''))
    .map((name) => `${name} is published or easy to guess: make one with openssl rand -hex 32`);

const isMissing = (value: unknown): boolean =>
  value === undefined ||
  (Array.isArray(value) && value.length === 0) ||
  (value instanceof Map && [...value.values()].flat().includes(ZERO_ADDRESS));

/**
 * A contract may serve several types: its events name the pool, and pools know their type.
 * @returns null if the text is not a list of types and addresses, lacks a type, or repeats an address for a type
 */
function parseContracts(text: string): Map<PoolType, string[]> | null {
  const contracts = new Map(POOL_TYPES.map((type): [PoolType, string[]] => [type, []]));
  for (const pair of text.split(',')) {
    const [type, address = '', ...rest] = pair.split('=').map((part) => part.trim().toLowerCase());
    const addresses = contracts.get(type as PoolType);
    const fits = /^0x[0-9a-f]{40}$/.test(address) && rest.length === 0;
    if (!addresses || !fits || addresses.includes(address)) return null;
    addresses.push(address);
  }
  return [...contracts.values()].every(({ length }) => length > 0) ? contracts : null;
}

function areEndpoints(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    return rpcEndpoints(value).every(({ url }) => /^https?:/.test(url));
  } catch {
    return false;
  }
}

function isProxyRange(range: string): boolean {
  const [address = '', bits, ...rest] = range.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

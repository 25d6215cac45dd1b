import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { POOL_TYPES } from '#values/types';
import { LIMITS } from '#platform/postgres/budget';
import { type Environment, SETTINGS, loadEnvironment, loadKeeperEnvironment } from './environment';

const address = (digit: string): string => `0x${digit.repeat(40)}`;
const ONE = address('1');
const TOO_MUCH = '1'.repeat(78);
/** individual=0x1…,cooperative=0x2…,lottery=0x3… */
const CONTRACTS = POOL_TYPES.map((type, i) => `${type}=${address(`${i + 1}`)}`).join();
const REQUIRED = {
  DATABASE_URL: 'postgres://user:hidden-password@db.internal:5432/savings',
  JWT_SECRET: 'a secret that has at least 32 bytes',
};
const PRODUCTION = {
  ...REQUIRED,
  JWT_SECRET: randomBytes(32).toString('hex'),
  JWT_PREVIOUS_SECRET: randomBytes(32).toString('base64'),
  NODE_ENV: 'production',
  CHAIN_ID: '8453',
  SIWE_DOMAINS: 'app.example.org',
  POOL_CONTRACTS: CONTRACTS,
  METRICS_TOKEN: randomBytes(16).toString('hex'),
};

function problemsOf(
  variables: NodeJS.ProcessEnv,
  process?: 'indexer' | 'ledger' | (() => unknown),
): string[] {
  try {
    if (typeof process === 'function') process();
    else loadEnvironment(variables, process);
  } catch (error) {
    const [title, ...lines] = (error as Error).message.split('\n  ');
    expect(title).toBe('Configuration is wrong:');
    return lines;
  }
  return [];
}
const named = (variables: NodeJS.ProcessEnv): string[] =>
  problemsOf(variables).map((line) => line.split(' ')[0]);

describe('defaults', () => {
  it('are those of the interface, and contracts without an address', () => {
    const environment = loadEnvironment({ ...REQUIRED });
    expect(environment).toMatchObject({
      PORT: 3001,
      RATE_LIMIT_GENERAL: 100,
      RATE_LIMIT_AUTH: 5,
      RATE_LIMIT_WINDOW: 900,
      MIN_DEPOSIT: '10000000000000000000',
    });
    for (const name of ['REDIS_URL', 'RPC_URL', 'CHAIN_ID', 'JWT_PREVIOUS_SECRET', 'METRICS_TOKEN'])
      expect(environment).not.toHaveProperty(name);
    expect([...environment.POOL_CONTRACTS.values()]).toEqual(POOL_TYPES.map(() => [address('0')]));
  });

  it('apply to empty variables too', () => {
    const empty = Object.fromEntries(SETTINGS.map((name) => [name, '']));
    expect({ ...loadEnvironment({ ...empty, ...REQUIRED }) }).toEqual({
      ...loadEnvironment({ ...REQUIRED }),
    });
  });
});

describe('what is required', () => {
  it.each(['DATABASE_URL', 'JWT_SECRET'])('%s', (name) => {
    const { [name as keyof typeof REQUIRED]: _, ...rest } = REQUIRED;
    expect(problemsOf(rest)).toEqual([`${name} is required`]);
    expect(problemsOf({ ...rest, [name]: '' })).toEqual([`${name} is required`]);
  });

  it('is more in production, and all missing settings are named at once', () => {
    expect(problemsOf(PRODUCTION)).toEqual([]);
    expect(named({ NODE_ENV: 'production' }).sort()).toEqual(
      ['CHAIN_ID', 'DATABASE_URL', 'JWT_SECRET', 'METRICS_TOKEN', 'POOL_CONTRACTS', 'SIWE_DOMAINS'].sort(),
    );
    expect(named({ ...PRODUCTION, SIWE_DOMAINS: ' , ' })).toEqual(['SIWE_DOMAINS']);
    expect(named({ ...PRODUCTION, POOL_CONTRACTS: CONTRACTS.replace(address('3'), address('0')) })).toEqual([
      'POOL_CONTRACTS',
    ]);
  });
});

describe('the addresses for wallets', () => {
  const refused = (name: string): unknown => [expect.stringMatching(new RegExp(`^${name} must `))];

  it.each(['PUBLIC_RPC_URLS', 'EXPLORER_URL'])(
    'are https in production, but for this machine: %s',
    (name) => {
      expect(problemsOf({ ...PRODUCTION, [name]: 'http://node.example' })).toEqual(refused(name));
      expect(problemsOf({ ...REQUIRED, [name]: 'http://node.example' })).toEqual([]);
      for (const own of ['https://node.example/x', 'http://127.0.0.1:8545', 'http://localhost:1'])
        expect(problemsOf({ ...PRODUCTION, [name]: own })).toEqual([]);
    },
  );

  it.each<[string, boolean]>([
    ['https://node.example/v2/hidden-key', true],
    ['https://NODE.example:443/v2/hidden-key', true],
    ['https://node.example/v2//hidden-key/', true],
    ['https://node.example:8443/v2/hidden-key#x', true],
    ['http://node.example/v2/hidden-key', true],
    ['https://node.example', false],
    ['https://first.example/', false],
    ['https://node.example/v2/another', false],
  ])("are none of the service's own that may hold a key: %s", (told, isOwn) => {
    const RPC_URL = 'https://first.example,https://node.example/v2/hidden-key';
    expect(problemsOf({ ...PRODUCTION, RPC_URL, PUBLIC_RPC_URLS: `https://a.example,${told}` })).toEqual(
      isOwn ? refused('PUBLIC_RPC_URLS') : [],
    );
  });

  it('are not compared with addresses of the service that are wrong', () => {
    const variables = { RPC_URL: 'nonsense', PUBLIC_RPC_URLS: 'https://a.example' };
    expect(problemsOf({ ...REQUIRED, ...variables })).toHaveLength(1);
  });
});

it('webhooks to private addresses stop production', () => {
  const variables = { WEBHOOK_ALLOW_PRIVATE: 'true' };
  expect(problemsOf({ ...PRODUCTION, ...variables })).toEqual([
    'WEBHOOK_ALLOW_PRIVATE is refused in production',
  ]);
  expect(problemsOf({ ...REQUIRED, ...variables })).toEqual([]);
});

describe('a secret', () => {
  const weak = 'changeme-changeme-changeme-changeme';
  it.each(['JWT_SECRET', 'JWT_PREVIOUS_SECRET'])('that is easy to guess stops production: %s', (name) => {
    const problems = problemsOf({ ...PRODUCTION, [name]: weak });
    expect(problems).toEqual([`${name} is published or easy to guess: make one with openssl rand -hex 32`]);
    expect(problemsOf({ ...REQUIRED, [name]: weak })).toEqual([]);
    expect(problemsOf({ ...PRODUCTION, [name]: 'short' })).toHaveLength(1);
  });
});

describe('where the events of contracts begin', () => {
  const of = (START_BLOCK: string): unknown => {
    const { START_BLOCK: starts } = loadEnvironment({ ...REQUIRED, POOL_CONTRACTS: CONTRACTS, START_BLOCK });
    const contracts = [1, 2, 3].map((n) => address(`${n}`));
    return [...contracts.map((each) => starts.of(each)), starts.first(contracts)];
  };

  it('is one number, or one for each, and one for those that are not named', () => {
    expect(of('17')).toEqual([17, 17, 17, 17]);
    expect(of(`${address('2')}:30`)).toEqual([0, 30, 0, 0]);
    expect(of(`${address('2')}:30, 17,${address('3')}:5`)).toEqual([17, 30, 5, 5]);
  });
});

it.each([
  ['START_BLOCK', ':'],
  ['MIN_DEPOSITS', '='],
  ['KEEPER_LEAST_YIELDS', '='],
])('%s names no contract that is not followed', (name, sign) => {
  const of = (...contracts: string[]): string[] => {
    const value = contracts.map((contract) => `${contract}${sign}5`).join();
    return problemsOf({ ...REQUIRED, POOL_CONTRACTS: CONTRACTS, [name]: value });
  };
  expect(of(ONE)).toEqual([]);
  expect(of(ONE, address('9'))).toEqual([`${name} names a contract that POOL_CONTRACTS does not name`]);
});

it('a budget of calls is one for all endpoints, or one for each', () => {
  const of = (RPC_URL: string, RPC_REQUESTS_PER_SECOND: string): string[] =>
    problemsOf({ ...REQUIRED, RPC_URL, RPC_REQUESTS_PER_SECOND }, 'indexer');
  const two = 'http://a,http://b';
  expect([of(two, '25'), of(two, '25, 5'), of('http://a', '25')]).toEqual([[], [], []]);
  const refused = ['RPC_REQUESTS_PER_SECOND must be one number, or one for each endpoint of RPC_URL'];
  expect([of(two, '25,5,5'), of('http://a', '25,5')]).toEqual([refused, refused]);
});

describe('the indexer', () => {
  const REQUIRED_BY_INDEXER = { DATABASE_URL: REQUIRED.DATABASE_URL, RPC_URL: 'http://node:8545' };
  const problems = (variables: NodeJS.ProcessEnv): string[] => problemsOf(variables, 'indexer');

  it('needs a node, and no settings that only the API uses', () => {
    expect(problems(REQUIRED_BY_INDEXER)).toEqual([]);
    expect(problems({ DATABASE_URL: REQUIRED.DATABASE_URL })).toEqual(['RPC_URL is required']);
    const production = { ...REQUIRED_BY_INDEXER, NODE_ENV: 'production' };
    expect(problems(production)).toEqual(['POOL_CONTRACTS is required in production']);
    expect(problems({ ...production, POOL_CONTRACTS: CONTRACTS })).toEqual([]);
  });

  it('needs no node for the commands that ask none', () => {
    const { DATABASE_URL } = REQUIRED;
    expect(problemsOf({ DATABASE_URL }, 'ledger')).toEqual([]);
    const production = problemsOf({ DATABASE_URL, NODE_ENV: 'production' }, 'ledger');
    expect(production).toEqual(['POOL_CONTRACTS is required in production']);
  });

  it('refuses wrong values too', () => {
    expect(problems({ ...REQUIRED_BY_INDEXER, JWT_SECRET: 'short' })).toHaveLength(1);
  });
});

describe('the keeper', () => {
  const KEY = `0x${randomBytes(32).toString('hex')}`;
  const problems = (variables: NodeJS.ProcessEnv): string[] =>
    problemsOf(variables, () => loadKeeperEnvironment(variables));

  it('needs a node and a key, and neither database nor JWT secret', () => {
    expect(problems({ RPC_URL: 'http://node:8545', KEEPER_KEY: KEY })).toEqual([]);
    expect(problems({})).toEqual(['RPC_URL is required', 'KEEPER_KEY is required']);
    const production = { NODE_ENV: 'production', RPC_URL: 'http://node:8545', KEEPER_KEY: KEY };
    expect(problems(production)).toEqual([
      'POOL_CONTRACTS is required in production',
      'CHAIN_ID is required in production',
    ]);
  });

  it('refuses a key that is none, and in production one that is easy to guess', () => {
    const zero = `0x${'0'.repeat(64)}`;
    expect(problemsOf({ ...REQUIRED, KEEPER_KEY: zero })).toEqual(['KEEPER_KEY is no private key']);
    const one = `0x${'1'.padStart(64, '0')}`;
    expect(problemsOf({ ...REQUIRED, KEEPER_KEY: one })).toEqual([]);
    expect(problemsOf({ ...PRODUCTION, KEEPER_KEY: one })).toEqual(['KEEPER_KEY is easy to guess']);
    expect(problemsOf({ ...PRODUCTION, KEEPER_KEY: KEY })).toEqual([]);
  });
});

/** No header carries them unchanged. */
const UNSENDABLE = [
  'a token\nof two lines',
  ' blank before it',
  'blank behind it ',
  'a token of caf\u00e9s',
  'tabs\tand\tmore tabs',
];

const WRONG: Record<string, string[]> = {
  NODE_ENV: ['prod', 'Production'],
  PORT: ['-1', '65536', '0x10', '1e3', '80.5', 'http', ' 80'],
  KEEP_ALIVE_TIMEOUT: ['0', '86401', '65s'],
  DATABASE_URL: [
    'mysql://hidden-password@db/x',
    'db.internal/hidden-password',
    'postgres://user:hidden#password@db/x',
    'postgres://user:hidden%password@db/x',
  ],
  DATABASE_READ_URL: ['mysql://hidden-password@db/x', 'db.internal/hidden-password'],
  DATABASE_POOL_SIZE: ['0', '501', 'many'],
  DATABASE_STATEMENT_TIMEOUT: ['-1', '86401', '90s'],
  REDIS_URL: ['http://hidden-password@cache', 'cache:6379'],
  RPC_URL: ['ws://node/hidden-password', 'node:8545', 'http://node:8545,', 'http://%zz@node'],
  CHAIN_ID: ['0', '-1', 'mainnet', '1.5'],
  START_BLOCK: ['-1', 'latest', '1,2', '0x12:5', `${ONE}:x`, `${ONE}:1,${ONE}:2`, `${ONE}:1,`],
  CONFIRMATIONS: ['-1', '65', 'x', '1.5', 'latest', 'Safe'],
  RPC_AGREE: ['0', '-1', 'most'],
  QUARANTINE_AFTER: ['0', '86401', 'soon'],
  RPC_REQUESTS_PER_SECOND: ['0', '-1', '1.5', '100001', '10,many', ','],
  RPC_TIMEOUT: ['0', '61', '2.5'],
  MAX_HEAD_AGE: ['-1', '1.5', 'soon'],
  PENDING_DEPOSIT_TTL: ['0', '1h'],
  JWT_SECRET: ['hidden-password', '1234567890123456789012345678901'],
  JWT_PREVIOUS_SECRET: ['hidden-password'],
  RATE_LIMIT_GENERAL: ['0', 'none', '-5'],
  RATE_LIMIT_AUTH: ['0', 'none'],
  RATE_LIMIT_WINDOW: ['0', '86401', '15m'],
  MIN_DEPOSIT: ['-1', '1e19', '1.5', '0x10', TOO_MUCH],
  MIN_DEPOSITS: ['10', ONE, `${ONE}=1.5`, `${ONE}=1,${ONE}=2`, '0x12=1', `${ONE}=${TOO_MUCH}`],
  METRICS_TOKEN: ['hidden', ...UNSENDABLE],
  METRICS_PREVIOUS_TOKEN: ['hidden', ...UNSENDABLE],
  OPERATOR: ['x'.repeat(101)],
  LOTTERY_PUBLIC: ['yes', 'TRUE', '2'],
  PUBLIC_STATISTICS: ['yes', 'TRUE', '2'],
  CHAIN_NAME: ['x'.repeat(51)],
  PUBLIC_RPC_URLS: ['ws://a.example', 'a.example', 'https://a:hidden@a.example', 'https://a.example,x'],
  EXPLORER_URL: ['ftp://explorer.example', 'explorer.example', 'https://hidden@explorer.example'],
  CHAIN_CURRENCY: 'ETH Pound,GBP Ether,ETH,x Ether,ETH,18,1 ,GBP,18 Ether,TOO-LONG-SYMBOL,18'.split(' '),
  WEBHOOK_ALLOW_PRIVATE: ['yes', '2'],
  WEBHOOK_RETRY_SECONDS: ['0', '10,86401', '10,x', '10;30', '1.5', ',', Array(51).fill('10').join()],
  DOCS: ['yes', 'TRUE', '2'],
  PUBLIC_URL: ['a.example', 'ftp://a.example', 'https://a.example/', 'https://a.example?a=b', 'https://'],
  EVENT_STREAMS_PER_ADDRESS: ['0', '100001', 'many'],
  EVENT_STREAMS_PER_PROCESS: ['0', '1000001', 'many'],
  EVENT_STREAMS_PER_USER: ['0', '1001', 'many'],
  LOG_LEVEL: ['verbose', 'INFO'],
  VERIFY_POOLS: ['0', '10001', 'all'],
  VERIFY_INTERVAL: ['-1', '86401', '1m'],
  INDEXER_PORT: ['-1', '65536', 'x'],
  KEEPER_KEY: ['0x1234', `${'ab'.repeat(32)}`, `0x${'zz'.repeat(32)}`],
  KEEPER_BUDGET: ['-1', '1e-3', '0,05', '.5', '5 ether'],
  KEEPER_LEAST_YIELD: ['-1', '1.5', '1e18', '9'.repeat(79)],
  KEEPER_LEAST_YIELDS: ['7', `${ONE}=-1`],
  KEEPER_PORT: ['-1', '65536', 'x'],
  POOL_CONTRACTS: [
    POOL_TYPES.join(),
    CONTRACTS.replace(address('2'), '0x12'),
    CONTRACTS.replace('lottery', 'lotery'),
    CONTRACTS.replaceAll(',', ';'),
    `${CONTRACTS},lottery=${address('3')}`,
    `${CONTRACTS},other=${address('4')}`,
    CONTRACTS.replace('lottery=', 'lottery:='),
    CONTRACTS.replace('lottery=', 'lottery:Two words='),
    `${CONTRACTS},lottery:vault=${ONE}`,
    CONTRACTS.replace('lottery=', 'lottery++='),
  ],
  SIWE_DOMAINS: `https://a.example a.example/ user@a.example a.example,*.example.org a.example:
    App.example.org app.example.org:443 localhost:80 a.example:99999 [0:0::1]:3000`.split(/\s+/),
  CORS_ORIGINS: `dapp.example.com https://app.example.org/ https://app.example.org/page
    https://App.example.org https://app.example.org:443 https://*.example.org/x https://*.example.org capacitor://*
    https://a.example,b.example`.split(/\s+/),
  TRUST_PROXY: `0.0.0.0/0 ::/0 proxy.internal 10.0.0.0/33 10.0.0.0/ ::1/129 10.0.0.0/8/8 10.0.0/8
    10.0.0.1,x ::ffff:10.0.0.1 0:0:0:0:0:ffff:10.0.0.0/104 fe80::1%eth0`.split(/\s+/),
};
const CASES = Object.entries(WRONG).flatMap(([name, values]) => values.map((value) => [name, value]));

describe('a wrong value', () => {
  it.each(CASES)('of %s is named and not repeated: %j', (name, value) => {
    const problems = problemsOf({ ...REQUIRED, [name]: value });
    expect(problems).toHaveLength(1);
    expect(problems[0].split(' ')[0]).toBe(name);
    expect(problems[0].length).toBeGreaterThan(name.length + 3);
    if (value.length > 5) expect(problems[0]).not.toContain(value);
    expect(problems[0]).not.toMatch(/hidden|proxy\.internal|db\.internal|lotery|\bundefined\b|NaN/);
  });

  it('is named together with all others', () => {
    const wrong = Object.fromEntries(Object.entries(WRONG).map(([name, [value]]) => [name, value]));
    expect(named(wrong).sort()).toEqual(Object.keys(WRONG).sort());
  });

  it('is tested for every setting that can have one', () => {
    const free = ['HOST'];
    expect([...Object.keys(WRONG), ...free].sort()).toEqual(SETTINGS);
  });
});

describe('parsing', () => {
  const load = (variables: NodeJS.ProcessEnv): Environment => loadEnvironment({ ...REQUIRED, ...variables });

  it('gives POOL_CONTRACTS by type, lower-cased, in any order, with spaces', () => {
    const [last, ...others] = CONTRACTS.split(',').reverse();
    const mixed = ` ${last.split('=')[0]} = 0x${'Ab'.repeat(20)} , ${others.join()}`;
    expect([...load({ POOL_CONTRACTS: mixed }).POOL_CONTRACTS]).toEqual([
      ...POOL_TYPES.slice(0, -1).map((type, i) => [type, [address(`${i + 1}`)]]),
      [POOL_TYPES.at(-1), [`0x${'ab'.repeat(20)}`]],
    ]);
  });

  it('gives MIN_DEPOSITS by contract, lower-cased, with spaces', () => {
    const [own, other] = [`0x${'aB'.repeat(20)}`, address('2')];
    const POOL_CONTRACTS = CONTRACTS.replace(ONE, own);
    expect([...load({ POOL_CONTRACTS, MIN_DEPOSITS: `${own}=010, ${other}=7` }).MIN_DEPOSITS]).toEqual([
      [own.toLowerCase(), '10'],
      [other, '7'],
    ]);
    expect([...load({}).MIN_DEPOSITS]).toEqual([]);
  });

  it('needs no contract of each type: new pools of the others are off', () => {
    const { POOL_CONTRACTS } = load({ POOL_CONTRACTS: `individual=${ONE},lottery:vault+=${address('9')}` });
    expect(POOL_TYPES.filter((type) => POOL_CONTRACTS.newest(type) !== null)).toEqual(['individual']);
    expect([...POOL_CONTRACTS].filter(([, contracts]) => contracts.length > 0)).toEqual([
      ['individual', [ONE]],
      ['lottery', [address('9')]],
    ]);
    expect([POOL_CONTRACTS.furtherOf('lottery'), POOL_CONTRACTS.formerOf('lottery')]).toEqual([
      [address('9')],
      [],
    ]);
  });

  it('gives the adapters that POOL_CONTRACTS names, by address', () => {
    const { POOL_CONTRACTS } = load({
      POOL_CONTRACTS: `${CONTRACTS.replace('lottery=', ' Lottery:Vault-2 = ')},lottery=${address('9')}`,
    });
    expect(POOL_CONTRACTS.get('lottery')).toEqual(['3', '9'].map(address));
    expect([...POOL_CONTRACTS.adapters]).toEqual([[address('3'), 'vault-2']]);
  });

  it('tells the contract of new pools from those that they get only if they ask, and from older ones', () => {
    const { POOL_CONTRACTS } = load({
      POOL_CONTRACTS: `lottery=${address('8')},${CONTRACTS},lottery:vault+=${address('9')},lottery += ${ONE}`,
    });
    expect(POOL_CONTRACTS.get('lottery')).toEqual(['8', '3', '9', '1'].map(address));
    expect(POOL_CONTRACTS.newest('lottery')).toBe(address('3'));
    expect(POOL_CONTRACTS.furtherOf('lottery')).toEqual(['9', '1'].map(address));
    expect(POOL_CONTRACTS.formerOf('lottery')).toEqual([address('8')]);
    expect([...POOL_CONTRACTS.adapters]).toEqual([[address('9'), 'vault']]);
    expect([POOL_CONTRACTS.furtherOf('individual'), POOL_CONTRACTS.formerOf('individual')]).toEqual([[], []]);
  });

  it('gives numbers, flags and lists', () => {
    expect(
      load({
        PORT: '0',
        CHAIN_ID: '137',
        LOTTERY_PUBLIC: '1',
        SIWE_DOMAINS: 'a.example, b.example:3000',
        CORS_ORIGINS: '*, https://a.example, capacitor://localhost',
        WEBHOOK_RETRY_SECONDS: ' 5, 60,3600,',
        TRUST_PROXY: ' 10.0.0.0/8 , 192.0.2.1 , ::1 , 2001:db8::/32,',
        CHAIN_CURRENCY: ' Sepolia Ether, ETH ,18',
      }),
    ).toMatchObject({
      PORT: 0,
      CHAIN_ID: 137,
      LOTTERY_PUBLIC: true,
      SIWE_DOMAINS: ['a.example', 'b.example:3000'],
      CORS_ORIGINS: ['*', 'https://a.example', 'capacitor://localhost'],
      WEBHOOK_RETRY_SECONDS: [5, 60, 3600],
      TRUST_PROXY: ['10.0.0.0/8', '192.0.2.1', '::1', '2001:db8::/32'],
      CHAIN_CURRENCY: { name: 'Sepolia Ether', symbol: 'ETH', decimals: 18 },
    });
    expect(load({ LOTTERY_PUBLIC: 'false' }).LOTTERY_PUBLIC).toBe(false);
  });

  it.each(['redis://cache', 'rediss://cache', 'redis+sentinel://a,b/m', 'rediss+cluster://a:1'])(
    'takes %s as REDIS_URL',
    (REDIS_URL) => expect(load({ REDIS_URL }).REDIS_URL).toBe(REDIS_URL),
  );

  it.each(['localhost:3000', '127.0.0.1:3000', '[::1]:3000', 'plain', 'xn--bcher-kva.example'])(
    'takes %s in SIWE_DOMAINS',
    (SIWE_DOMAINS) => expect(load({ SIWE_DOMAINS }).SIWE_DOMAINS).toEqual([SIWE_DOMAINS]),
  );

  it('takes only settings from the environment', () => {
    expect(load({ limits: '1' }).limits).toBe(LIMITS);
    expect(load({ PATH: '/bin' })).not.toHaveProperty('PATH');
  });
});

it('.env.example sets nothing but defaults, and its examples are taken', () => {
  const text = readFileSync(join(__dirname, '../../.env.example'), 'utf8');
  const lines = [...text.matchAll(/^(# )?([A-Z][A-Z_]+)=(.*)$/gm)];
  expect(lines.map(([, , name]) => name).sort()).toEqual(SETTINGS);
  const active = Object.fromEntries(
    lines.filter(([, off]) => !off).map(([, , name, value]) => [name, value]),
  );
  expect({ ...loadEnvironment({ ...active, ...REQUIRED }) }).toEqual({ ...loadEnvironment({ ...REQUIRED }) });
  const all = Object.fromEntries(lines.map(([, , name, value]) => [name, value]));
  expect(problemsOf({ ...all, JWT_SECRET: REQUIRED.JWT_SECRET })).toEqual([]);
});

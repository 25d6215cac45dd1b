import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import type { LocalDeployment } from '#dev/deploy';
import { hostOf } from '#dev/ports';
import { announcement, developing, settings as settingsOf } from '#dev/settings';

const MADE = {
  DATABASE_URL: 'postgres://savings:made@127.0.0.1:5432/savings',
  RPC_URL: 'http://127.0.0.1:8545',
  JWT_SECRET: 'made',
};

const PORTS = { api: 3001, indexer: 3002 };
const TAKEN = { PORT: '3001', INDEXER_PORT: '3002' };
const settings = (given: NodeJS.ProcessEnv, made: NodeJS.ProcessEnv) => settingsOf(given, PORTS, made);

describe('npm start', () => {
  it.each([{}, { HOST: '' }])('listens on this machine only, unless HOST says otherwise: %j', (given) => {
    expect(hostOf(given)).toBe('127.0.0.1');
    expect(settings(given, MADE)).toEqual({ ...MADE, ...TAKEN, HOST: '127.0.0.1' });
    expect(settings({ HOST: '0.0.0.0' }, MADE).HOST).toBe('0.0.0.0');
  });

  it('stays on this machine with .env.example copied to .env', () => {
    expect(hostOf(parseEnv(readFileSync(join(__dirname, '../../.env.example'), 'utf8')))).toBe('127.0.0.1');
  });

  it('starts the service with the given settings, and creates the others', () => {
    const given = { JWT_SECRET: 'given', RPC_URL: '', OTHER: 'x' };
    const own = { JWT_SECRET: 'given', OTHER: 'x', HOST: '127.0.0.1' };
    expect(settings(given, MADE)).toEqual({ ...MADE, ...TAKEN, ...own });
    // A port of 0 is any.
    expect(settings({ PORT: '0', INDEXER_PORT: '' }, MADE)).toMatchObject(TAKEN);
  });

  it('lets webhooks lead to this machine, unless that is set, or refused', () => {
    const allowed = (given: NodeJS.ProcessEnv): string | undefined =>
      settings(given, developing(given)).WEBHOOK_ALLOW_PRIVATE;
    expect(allowed({})).toBe('true');
    expect(allowed({ WEBHOOK_ALLOW_PRIVATE: 'false' })).toBe('false');
    expect(allowed({ NODE_ENV: 'production' })).toBeUndefined();
  });

  it('shows the addresses of what it started', () => {
    const text = announcement({}, settingsOf({}, { api: 8080, indexer: 8081 }, MADE));
    for (const shown of [
      'http://localhost:8080/docs',
      'http://localhost:8081/health',
      MADE.DATABASE_URL,
      MADE.RPC_URL,
    ])
      expect(text).toContain(shown);
    expect(announcement({}, { ...MADE, RPC_URL: undefined })).toContain('off: there is no anvil');
  });

  it.each([
    ['0.0.0.0', 'http://localhost:8080'],
    ['192.0.2.7', 'http://192.0.2.7:8080'],
    ['2001:db8::7', 'http://[2001:db8::7]:8080'],
  ])('shows addresses that lead to what listens on %s', (HOST, shown) => {
    const text = announcement({ HOST }, settingsOf({ HOST }, { api: 8080, indexer: 8081 }, MADE));
    expect(text).toContain(`API       ${shown}\n`);
  });

  it('shows the page first, where it is served', () => {
    const made = settings({}, MADE);
    expect(announcement({}, made, undefined, 'http://localhost:3000').trim()).toMatch(
      /^Page {6}http:\/\/localhost:3000\n/,
    );
    expect(announcement({}, made)).not.toContain('Page');
  });

  it('shows what a developer needs of the local chain', () => {
    const key = { address: '0xac', privateKey: '0x5ec' };
    const deployment = {
      token: '0x70',
      contracts: { individual: '0x11', lottery: '0x33' },
      further: { 'individual:erc4626+': '0x44' },
    } as unknown as LocalDeployment;
    const text = announcement({}, settings({}, MADE), { chainId: 31337, deployment, key });
    for (const shown of [
      '31337',
      'individual           0x11',
      'lottery              0x33',
      'individual:erc4626+  0x44',
      '0x70',
      ...Object.values(key),
    ])
      expect(text).toContain(shown);
    expect(announcement({}, settings({}, MADE))).not.toMatch(/Token|Contracts|key/);
  });

  it.each([
    ['postgres://user:s3cret@db:5433/savings?password=s3cret#s3cret', 'postgres://db:5433/savings'],
    ['postgres://user:s3cret s3cret@db/savings', 'postgres://db/savings'],
    [`postgres://user:s3c"re't@db/savings`, 'postgres://db/savings'],
    ['postgres:///savings?host=/run&user=s3cret&password=s3cret', 'postgres:///savings'],
    ['postgresql://user:s3cret/x@db/savings', 'the one in DATABASE_URL'],
    ['host=db user=savings password=s3cret', 'the one in DATABASE_URL'],
  ])('shows no password that it was given, of a database at %s', (DATABASE_URL, shown) => {
    const given = { DATABASE_URL };
    const text = announcement(given, settings(given, MADE));
    expect(text).toContain(`Database  ${shown}\n`);
    expect(text).not.toMatch(/s3c|made/);
  });

  it('hides passwords and keys of the given chain', () => {
    const given = { RPC_URL: 'https://user:s3cret@rpc.example/v2/s3cret,https://other.example/?key=s3cret' };
    const text = announcement(given, settings(given, MADE));
    expect(text).toContain('Chain     rpc.example, other.example\n');
    expect(text).not.toMatch(/s3cret|user/);
  });
});

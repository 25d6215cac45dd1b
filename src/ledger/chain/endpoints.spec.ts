import { localRpcUrl, rpcEndpoints } from './endpoints';

describe('rpcEndpoints', () => {
  it('keeps the order of several', () => {
    const found = rpcEndpoints('http://one:8545, https://two.example/v2/key');
    expect(found.map(({ url }) => url)).toEqual(['http://one:8545/', 'https://two.example/v2/key']);
  });

  it('moves user and password into a header', () => {
    const [endpoint] = rpcEndpoints('https://user:p%40ss:w@node.example/');
    expect(endpoint.url).toBe('https://node.example/');
    expect(endpoint.headers).toEqual({
      authorization: `Basic ${Buffer.from('user:p@ss:w').toString('base64')}`,
    });
  });

  it('sends no header without them', () => {
    expect(rpcEndpoints('http://node.example')[0].headers).toEqual({});
  });

  it('has the calls a second of each, or those of all', () => {
    const budgets = (perSecond?: number[]) =>
      rpcEndpoints('http://one,http://two', perSecond).map((each) => each.perSecond);
    expect([budgets([5, 9]), budgets([7]), budgets()]).toEqual([
      [5, 9],
      [7, 7],
      [undefined, undefined],
    ]);
  });

  it('names the host only', () => {
    const [{ name }] = rpcEndpoints('https://user:secret@node.example:8443/v2/key?apikey=key#x');
    expect(name).toBe('node.example:8443');
  });

  it('names several of one host apart', () => {
    const found = rpcEndpoints('https://node.example/a,https://other.example,https://node.example/b');
    expect(found.map(({ name }) => name)).toEqual(['node.example', 'other.example', 'node.example#2']);
  });
});

describe('the address of the chain', () => {
  it.each(['http://127.0.0.1:8545', 'http://localhost:8545/', 'http://[::1]:8545'])(
    '%s is told',
    (RPC_URL) => {
      expect(localRpcUrl({ NODE_ENV: 'development', RPC_URL })).toBe(RPC_URL.replace(/\/$/, ''));
    },
  );

  it('of several is the first', () => {
    const RPC_URL = 'http://127.0.0.1:8545,https://node.example/key';
    expect(localRpcUrl({ NODE_ENV: 'development', RPC_URL })).toBe('http://127.0.0.1:8545');
  });

  it.each([
    ['with a key in its path', 'http://127.0.0.1:8545/v2/key'],
    ['with a key in its query', 'http://127.0.0.1:8545/?key=1'],
    ['with credentials', 'http://user:secret@127.0.0.1:8545'],
    ['of another machine', 'http://node.example:8545'],
    ['of a host that begins like this one', 'http://127.0.0.1.example:8545'],
    ['of a host that ends like this one', 'http://not.localhost.example:8545'],
    ['that is not set', undefined],
  ])('is not told %s', (_what, RPC_URL) => {
    expect(localRpcUrl({ NODE_ENV: 'development', RPC_URL })).toBeUndefined();
  });

  it.each(['production', 'test'] as const)('is not told in %s', (NODE_ENV) => {
    expect(localRpcUrl({ NODE_ENV, RPC_URL: 'http://127.0.0.1:8545' })).toBeUndefined();
  });
});

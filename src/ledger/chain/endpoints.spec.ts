import { localRpcUrl, rpcEndpoints } from './endpoints';

describe('rpcEndpoints', () => {
  const plain = (url: string, name: string): object => ({ url, name, headers: {} });
  const authorization = `Basic ${Buffer.from('user:p@ss:w').toString('base64')}`;

  it.each<[string, string, object[]]>([
    [
      'keeps the order of several, and names the host only',
      'http://one:8545, https://two.example:8443/v2/key?apikey=key#x',
      [
        plain('http://one:8545/', 'one:8545'),
        plain('https://two.example:8443/v2/key?apikey=key#x', 'two.example:8443'),
      ],
    ],
    [
      'moves user and password into a header',
      'https://user:p%40ss:w@node.example/',
      [{ ...plain('https://node.example/', 'node.example'), headers: { authorization } }],
    ],
    [
      'numbers several of one host',
      'https://node.example/a,https://other.example,https://node.example/b',
      [
        plain('https://node.example/a', 'node.example'),
        plain('https://other.example/', 'other.example'),
        plain('https://node.example/b', 'node.example#2'),
      ],
    ],
  ])('%s', (_, setting, expected) => expect(rpcEndpoints(setting)).toEqual(expected));

  it('has the calls a second of each, or those of all', () => {
    const budgets = (perSecond?: number[]) =>
      rpcEndpoints('http://one,http://two', perSecond).map((each) => each.perSecond);
    expect([budgets([5, 9]), budgets([7]), budgets()]).toEqual([
      [5, 9],
      [7, 7],
      [undefined, undefined],
    ]);
  });
});

describe('the address of the chain', () => {
  it.each([
    ['http://127.0.0.1:8545', 'http://127.0.0.1:8545'],
    ['http://localhost:8545/', 'http://localhost:8545'],
    ['http://[::1]:8545', 'http://[::1]:8545'],
    ['http://127.0.0.1:8545,https://node.example/key', 'http://127.0.0.1:8545'],
  ])('is shown for %s, the first of several', (RPC_URL, shown) =>
    expect(localRpcUrl({ NODE_ENV: 'development', RPC_URL })).toBe(shown),
  );

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

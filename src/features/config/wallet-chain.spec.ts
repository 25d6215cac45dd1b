import { localRpcUrl } from './wallet-chain';

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

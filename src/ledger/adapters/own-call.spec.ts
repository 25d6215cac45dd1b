import { encodeFunctionData, parseAbi } from 'viem';
import { encodeCall, readCall, readView } from './own-call';

const ACCOUNT = `0x${'a1'.repeat(20)}` as const;
const values = { pool: 7n, account: ACCOUNT, amount: 250n };

describe('a call that an adapter describes', () => {
  it('says pool, account and amount in the order of its parameters, each as often as it is named', () => {
    const signature = 'move(uint256 amount, address account, uint64 pool, address account)';
    const abi = parseAbi(['function move(uint256 a, address b, uint64 c, address d)']);
    expect(encodeCall(readCall(signature, 'here'), values)).toBe(
      encodeFunctionData({ abi, args: [250n, ACCOUNT, 7n, ACCOUNT] }),
    );
    const nothing = readCall('takeReward()', 'here');
    expect(encodeCall(nothing, values)).toBe(
      encodeFunctionData({ abi: parseAbi(['function takeReward()']) }),
    );
  });

  it.each([
    [
      'pay(uint256 pool, uint256 limit)',
      'Clubs: deposit: pay(uint256 pool, uint256 limit) has the parameter limit',
    ],
    ['pay(uint256)', 'Clubs: deposit: pay(uint256) has the parameter without a name'],
    ['pay(uint256 amount', 'Clubs: deposit: pay(uint256 amount is no function'],
  ])('is refused as %s', (signature, message) => {
    expect(() => readCall(signature, 'Clubs: deposit')).toThrow(message);
  });
});

describe('a view that an adapter describes', () => {
  it.each([
    'of(address account)',
    'of(address account) returns (uint64 since, uint128 value)',
    'of(address account) returns ((string name, (uint256 value, bool) inner) member)',
  ])('is %s', (signature) => {
    expect(readView(signature, 'here').name).toBe('of');
  });

  it.each([
    'of(address account) returns (uint256, bool)',
    'of(address account) returns (uint256 value, uint256 value)',
    'of(address account) returns (int256 value)',
    'of(address account) returns (uint256[] value)',
  ])('is refused as %s', (signature) => {
    expect(() => readView(signature, 'Clubs: balance')).toThrow(
      `Clubs: balance: ${signature} must return one uint that is called value`,
    );
  });
});

import mainnet from '../../../test/vectors/mainnet-23535880.json';
import { headerHash, isAuthentic, mayHaveLogsOf } from './header';

describe('the hash of a header', () => {
  it('of the main network is that of all its fields', () => expect(headerHash(mainnet)).toBe(mainnet.hash));

  it.each(['logsBloom', 'receiptsRoot', 'parentHash', 'timestamp', 'number', 'requestsHash'] as const)(
    'covers %s',
    (field) => {
      const digit = mainnet[field].endsWith('7') ? '8' : '7';
      expect(isAuthentic({ ...mainnet, [field]: mainnet[field].slice(0, -1) + digit })).toBe(false);
    },
  );

  it.each(['logsBloom', 'requestsHash'])('cannot be made without %s', (field) =>
    expect(isAuthentic({ ...mainnet, [field]: undefined })).toBe(false),
  );

  it.each([['0x'], ['0xabc'], ['nothing'], [7], [null]])('is none with a bloom of %s', (logsBloom) =>
    expect(isAuthentic({ ...mainnet, logsBloom })).toBe(false),
  );
});

it('a bloom of the main network has the tokens that are moved in each of its blocks, and not any contract', () => {
  const has = (address: string): boolean => mayHaveLogsOf(address, mainnet.logsBloom);
  expect(has('0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48')).toBe(true);
  expect(has('0xdac17f958d2ee523a2206206994597c13d831ec7')).toBe(true);
  const others = Array.from({ length: 100 }, (_, i) => `0x${i.toString(16).padStart(40, '1')}`);
  expect(others.filter(has).length).toBeLessThan(60);
});

import type { Chain } from 'viem';
import { KNOWN_CHAINS, chainInfo } from './wallet-chain';

// By its types TypeScript would come to packages that do not compile here.
const CHAINS = Object.values(jest.requireActual<Record<string, Chain>>('viem/chains'));
const UNSET = { PUBLIC_RPC_URLS: [] };
const LOCAL = 'http://127.0.0.1:8545';

describe('data of the chain for wallets', () => {
  it('is what viem knows of usual chains', () => {
    const ids = Object.keys(KNOWN_CHAINS).map(Number);
    expect(ids.length).toBeGreaterThan(5);
    for (const id of ids) {
      // Of several with one id, the usual one is named first.
      const chain = CHAINS.find((each) => each.id === id)!;
      expect(chainInfo(id, UNSET)).toEqual({
        id,
        name: chain.name,
        currency: chain.nativeCurrency,
        rpcUrls: chain.rpcUrls.default.http,
        explorerUrl: chain.blockExplorers!.default.url,
      });
    }
  });

  it('is a name and no node for others, whatever their id', () => {
    const currency = { name: 'Ether', symbol: 'ETH', decimals: 18 };
    expect(chainInfo(4242, UNSET)).toEqual({
      id: 4242,
      name: 'Chain 4242',
      currency,
      rpcUrls: [],
      explorerUrl: null,
    });
  });

  it('is the chain of this machine in development, also where that has the id of another', () => {
    for (const id of [31_337, 1])
      expect(chainInfo(id, UNSET, LOCAL)).toMatchObject({
        id,
        name: 'Local chain',
        rpcUrls: [LOCAL],
        explorerUrl: null,
      });
  });

  it('is what the operator set, before all else', () => {
    const told = {
      CHAIN_NAME: 'Ours',
      CHAIN_CURRENCY: { name: 'Pound', symbol: 'GBP', decimals: 6 },
      PUBLIC_RPC_URLS: ['https://a.example', 'https://b.example/x'],
      EXPLORER_URL: 'https://c.example/',
    };
    for (const [id, local] of [[1], [31_337, LOCAL]] as [number, string?][])
      expect(chainInfo(id, told, local)).toEqual({
        id,
        name: 'Ours',
        currency: told.CHAIN_CURRENCY,
        rpcUrls: told.PUBLIC_RPC_URLS,
        explorerUrl: 'https://c.example',
      });
    expect(chainInfo(1, { ...told, PUBLIC_RPC_URLS: [] }).rpcUrls).toEqual(KNOWN_CHAINS[1].rpcUrls);
  });
});

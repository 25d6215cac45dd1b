import { createWalletClient, defineChain, http } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/**
 * Keys that every development chain funds. They are public and worth nothing elsewhere. The first owns the contracts of
 * the local chain; the second is for trying things out; the others are people to share a circle with.
 */
const KEYS = {
  keeper: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  saver: '0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a',
  first: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  second: '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
} as const;

export const localWallet = (name: keyof typeof KEYS, rpcUrl: string, chainId: number) =>
  createWalletClient({
    account: privateKeyToAccount(KEYS[name]),
    chain: defineChain({
      id: chainId,
      name: 'Local chain',
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [rpcUrl] } },
    }),
    transport: http(rpcUrl),
  });

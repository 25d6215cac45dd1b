import type { ChainInfo } from './config.dto';
import type { ClientConfigSettings } from './config.settings';

/** The settings, else the chain of this machine, else what is known of the chain id. */
export function chainInfo(
  id: number,
  told: Pick<ClientConfigSettings, 'CHAIN_NAME' | 'CHAIN_CURRENCY' | 'PUBLIC_RPC_URLS' | 'EXPLORER_URL'>,
  localUrl?: string,
): ChainInfo {
  const { CHAIN_NAME, CHAIN_CURRENCY, PUBLIC_RPC_URLS, EXPLORER_URL } = told;
  const local = localUrl && { ...UNKNOWN_CHAIN, name: 'Local chain', rpcUrls: [localUrl] };
  const known = local || (KNOWN_CHAINS[id] ?? { ...UNKNOWN_CHAIN, name: `Chain ${id}` });
  return {
    id,
    name: CHAIN_NAME ?? known.name,
    currency: CHAIN_CURRENCY ?? known.currency,
    rpcUrls: PUBLIC_RPC_URLS.length > 0 ? PUBLIC_RPC_URLS : known.rpcUrls,
    explorerUrl: EXPLORER_URL?.replace(/\/+$/, '') ?? known.explorerUrl,
  };
}

type KnownChain = Omit<ChainInfo, 'id'>;

const currency = (name: string, symbol: string): ChainInfo['currency'] => ({ name, symbol, decimals: 18 });
const ETHER = currency('Ether', 'ETH');
const SEPOLIA_ETHER = currency('Sepolia Ether', 'ETH');
const POL = currency('POL', 'POL');

const chain = (
  name: string,
  money: ChainInfo['currency'],
  rpcUrl: string,
  explorerUrl: string,
): KnownChain => ({
  name,
  currency: money,
  rpcUrls: [rpcUrl],
  explorerUrl,
});

/**
 * The chains that savers most likely use, by id, as viem knows them. A test compares them. viem knows some 700, and a
 * process that loads them takes 50 MB more and starts a second later.
 */
export const KNOWN_CHAINS: Readonly<Record<string, KnownChain>> = {
  1: chain('Ethereum', ETHER, 'https://ethereum.reth.rs/rpc', 'https://etherscan.io'),
  10: chain('OP Mainnet', ETHER, 'https://mainnet.optimism.io', 'https://optimistic.etherscan.io'),
  100: chain('Gnosis', currency('xDAI', 'XDAI'), 'https://rpc.gnosischain.com', 'https://gnosisscan.io'),
  137: chain('Polygon', POL, 'https://polygon.drpc.org', 'https://polygonscan.com'),
  8453: chain('Base', ETHER, 'https://mainnet.base.org', 'https://basescan.org'),
  42161: chain('Arbitrum One', ETHER, 'https://arb1.arbitrum.io/rpc', 'https://arbiscan.io'),
  42220: chain('Celo', currency('CELO', 'CELO'), 'https://forno.celo.org', 'https://celoscan.io'),
  80002: chain('Polygon Amoy', POL, 'https://polygon-amoy.drpc.org', 'https://amoy.polygonscan.com'),
  84532: chain('Base Sepolia', SEPOLIA_ETHER, 'https://sepolia.base.org', 'https://sepolia.basescan.org'),
  421614: chain(
    'Arbitrum Sepolia',
    currency('Arbitrum Sepolia Ether', 'ETH'),
    'https://sepolia-rollup.arbitrum.io/rpc',
    'https://sepolia.arbiscan.io',
  ),
  11155111: chain(
    'Sepolia',
    SEPOLIA_ETHER,
    'https://11155111.rpc.thirdweb.com',
    'https://sepolia.etherscan.io',
  ),
  11155420: chain(
    'OP Sepolia',
    SEPOLIA_ETHER,
    'https://sepolia.optimism.io',
    'https://optimism-sepolia.blockscout.com',
  ),
};

/** For any other chain. Nearly all of those for Ethereum's tools count in ether. */
const UNKNOWN_CHAIN = { currency: ETHER, rpcUrls: [], explorerUrl: null };

import type { Payer, WalletProvider } from '@pooled-savings/client';

/** A wallet that the user may choose. */
export interface WalletChoice {
  id: string;
  name: string;
  /** A data: URL, if the wallet has an icon. */
  icon?: string;
  connect: () => Payer;
}

interface Announcement extends Event {
  detail: { info: { rdns: string; name: string; icon: string }; provider: WalletProvider };
}

/**
 * Reports wallets as they announce themselves (EIP-6963), or else `window.ethereum`.
 * @returns a function that stops it
 */
export function discoverWallets(found: (wallets: WalletChoice[]) => void): () => void {
  const wallets = new Map<string, WalletChoice>();
  const listen = (event: Event): void => {
    const { info, provider } = (event as Announcement).detail;
    const icon = info.icon.startsWith('data:image/') ? info.icon : undefined;
    wallets.set(info.rdns, { id: info.rdns, name: info.name, icon, connect: () => provider });
    found([...wallets.values()]);
  };
  window.addEventListener('eip6963:announceProvider', listen);
  window.dispatchEvent(new Event('eip6963:requestProvider'));
  const { ethereum } = window as { ethereum?: WalletProvider };
  if (wallets.size === 0 && ethereum)
    found([{ id: 'window.ethereum', name: 'Browser wallet', connect: () => ethereum }]);
  return () => window.removeEventListener('eip6963:announceProvider', listen);
}

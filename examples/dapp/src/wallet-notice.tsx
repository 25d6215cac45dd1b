import type { WalletProvider } from '@pooled-savings/client';
import { useEffect, useState } from 'preact/hooks';
import { shortAddress } from './format.js';
import { Button } from './parts.js';
import type { ReadyConfig, Session } from './session.js';

type WalletEvent = 'accountsChanged' | 'chainChanged';

/** Methods that most wallets have besides EIP-1193's `request`. */
type ListeningProvider = WalletProvider & {
  on?: (event: WalletEvent, listener: () => void) => void;
  removeListener?: (event: WalletEvent, listener: () => void) => void;
};

/** Says when the wallet is on another account than the one that signed in, or on another chain. */
export function WalletNotice({
  session: { payer, address },
  config,
  onLeave,
}: {
  session: Session;
  config: ReadyConfig;
  onLeave: () => void;
}) {
  const [now, setNow] = useState<{ accounts: readonly string[]; chainId: number }>();
  useEffect(() => {
    // The wallet of the local chain is a key: it has no other account and no other chain.
    if ('sendTransaction' in payer) return;
    const provider: ListeningProvider = payer;
    const look = async (): Promise<void> => {
      const [accounts, chainId] = await Promise.all([
        provider.request({ method: 'eth_accounts' }),
        provider.request({ method: 'eth_chainId' }),
      ]);
      setNow({ accounts, chainId: Number(chainId) });
    };
    const changed = (): void => void look().catch(() => setNow(undefined));
    changed();
    provider.on?.('accountsChanged', changed);
    provider.on?.('chainChanged', changed);
    return () => {
      provider.removeListener?.('accountsChanged', changed);
      provider.removeListener?.('chainChanged', changed);
    };
  }, [payer]);

  const isOther = now && !now.accounts.some((each) => each.toLowerCase() === address.toLowerCase());
  const chain = config.chain?.name ?? `chain ${config.chainId}`;
  return (
    <div role="status">
      {isOther && (
        <p class="notice">
          <span>
            {now.accounts.length > 0
              ? `Your wallet is on ${shortAddress(now.accounts[0])}, and you signed in as ${shortAddress(address)}. Change back in the wallet to pay.`
              : 'Your wallet is locked, or no longer connected with this page.'}
          </span>
          {now.accounts.length > 0 && <Button text="Use the other account" onClick={onLeave} />}
        </p>
      )}
      {now && !isOther && now.chainId !== config.chainId && (
        <p class="notice">
          Your wallet is on chain {now.chainId}. It will be asked to change over to {chain} when you pay.
        </p>
      )}
    </div>
  );
}

import type { WalletProvider } from '@pooled-savings/client';
import { useEffect, useState } from 'preact/hooks';
import { shortAddress } from './format.js';
import { Button } from './parts.js';
import type { ReadyConfig, Session } from './session.js';

const EVENTS = ['accountsChanged', 'chainChanged'] as const;

/** Methods that most wallets have besides EIP-1193's `request`. */
type ListeningProvider = WalletProvider & {
  [Name in 'on' | 'removeListener']?: (event: (typeof EVENTS)[number], listener: () => void) => void;
};

/** Says when the wallet is on another account than the one that signed in, or on another chain. */
export function WalletNotice(props: { session: Session; config: ReadyConfig; onLeave: () => void }) {
  const { session, config, onLeave } = props;
  const { payer, address } = session;
  const [now, setNow] = useState<{ account: string | undefined; isOther: boolean; chainId: number }>();
  useEffect(() => {
    // The wallet of the local chain is a key: it has no other account and no other chain.
    if ('sendTransaction' in payer) return;
    const provider: ListeningProvider = payer;
    const look = async (): Promise<void> => {
      const [accounts, chainId] = await Promise.all([
        provider.request({ method: 'eth_accounts' }),
        provider.request({ method: 'eth_chainId' }),
      ]);
      const isOther = !accounts.some((each) => each.toLowerCase() === address);
      setNow({ account: accounts[0], isOther, chainId: Number(chainId) });
    };
    const changed = (): void => void look().catch(() => setNow(undefined));
    changed();
    for (const event of EVENTS) provider.on?.(event, changed);
    return () => EVENTS.forEach((event) => provider.removeListener?.(event, changed));
  }, [payer]);

  const chain = config.chain?.name ?? `chain ${config.chainId}`;
  return (
    <div role="status">
      {now?.isOther && (
        <p class="notice">
          <span>
            {now.account
              ? `Your wallet is on ${shortAddress(now.account)}, and you signed in as ${shortAddress(address)}. Change back in the wallet to pay.`
              : 'Your wallet is locked, or no longer connected with this page.'}
          </span>
          {now.account && <Button text="Use the other account" onClick={onLeave} />}
        </p>
      )}
      {now && !now.isOther && now.chainId !== config.chainId && (
        <p class="notice">
          Your wallet is on chain {now.chainId}. It will be asked to change over to {chain} when you pay.
        </p>
      )}
    </div>
  );
}

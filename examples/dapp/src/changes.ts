import type { FollowState, Follower, Start } from '@pooled-savings/client';
import { useFollow } from '@pooled-savings/client/react';
import { useEffect, useState } from 'preact/hooks';
import {
  type Holdings,
  type ReadyConfig,
  type Session,
  client,
  holdingsOf,
  walletBalance,
} from './session.js';

/** How long the page waits for the service to see what the chain already has, before it says that it is behind. */
const SOON_MS = 8_000;

/** How soon to look again at a draw that waits for blocks, of which there are no events. */
const BLOCKS_MS = 30_000;
const JITTER_MS = 5_000;

export interface Followed {
  follower: Follower | undefined;
  holdings: Holdings | undefined;
  state: FollowState;
  /** Resolves to whether the condition holds soon; if not, the service is behind, and the page will show it later. */
  isSeen: (holds: (data: Start) => boolean) => Promise<boolean>;
  /** Looks again into the wallet, which has no events. */
  lookIntoWallet: () => void;
}

/** Everything that is shown about the user, kept true by the service's events. */
export function useFollowed({ address, payer }: Session, { token }: ReadyConfig): Followed {
  const { follower, ...state } = useFollow(client);
  const [inWallet, setInWallet] = useState<bigint | null>(null);
  const lookIntoWallet = (): void => void walletBalance(payer, token, address).then(setInWallet);
  const { data } = state;
  useEffect(lookIntoWallet, [data, payer]);
  const isDrawing = data !== null && waitsForBlocks(data);
  useEffect(() => {
    if (!follower || !isDrawing) return;
    const look = (): void => void (document.visibilityState === 'visible' && follower.refresh());
    // Not all pages at once: for all of them the draw was closed in the same moment.
    const timer = setInterval(look, BLOCKS_MS + Math.random() * JITTER_MS);
    return () => clearInterval(timer);
  }, [follower, isDrawing]);
  const isSeen = (holds: (data: Start) => boolean): Promise<boolean> =>
    follower!.until(holds, { signal: AbortSignal.timeout(SOON_MS) }).then(
      () => true,
      () => false,
    );
  const holdings = data ? holdingsOf(data, inWallet) : undefined;
  return { follower, holdings, state, isSeen, lookIntoWallet };
}

/** Some blocks after a draw is closed anyone may pick its winner, or cancel it if nobody did in time. */
const waitsForBlocks = ({ draw, entries }: Start): boolean =>
  [draw, ...entries.data].some((each) => each?.status === 'DRAWING' && each.due !== 'cancel');

import { RetryableChainError } from '#indexer/reading/rpc';
import type { ChainIdentity, WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { acceptedClaim } from './vote';

/** The endpoints do not tell which chain to follow. Nothing is guessed: the first start binds the database to a chain. */
export class ChainUndecided extends RetryableChainError {}

type Endpoint = Pick<WatchedEndpoint, 'name' | 'identity' | 'error'>;

/**
 * The chain of the first start: that of most endpoints of RPC_URL, or with CHAIN_ID that of most of those that answer
 * with it. So many as have to agree about blocks have to agree about the chain.
 * @returns the chain of the first one when all of them are of another chain than CHAIN_ID
 * @throws ChainUndecided
 */
export function chooseChain(all: Endpoint[], agree: number, chainId?: number): ChainIdentity {
  const answering = all.filter(({ identity, error }) => identity && !error);
  const wanted = answering.filter(({ identity }) => !chainId || identity!.chainId === chainId);
  if (wanted.length === 0 && answering.length === all.length) return answering[0].identity!;
  const enough = chainId ? agree : Math.max(agree, Math.floor(all.length / 2) + 1);
  const accepted = acceptedClaim(
    wanted.map(({ identity }) => JSON.stringify(identity)),
    enough,
  );
  if (accepted >= 0) return wanted[accepted].identity!;
  const told = all.map(({ name, identity, error }) =>
    identity && !error
      ? `${name} is of chain ${identity.chainId} with genesis ${identity.genesis}`
      : `${name} does not answer`,
  );
  throw new ChainUndecided(
    `which chain to follow is not clear: ${told.join(', ')}. ` +
      (chainId ? `${enough} of chain ${chainId} have to agree` : 'CHAIN_ID would tell'),
  );
}

import { keccak_256 } from './noble/sha3.js';

const STATEMENT = 'Sign in to pooled savings.';
/** EIP-1193: the user rejected the request. */
const REJECTED = 4001;

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const utf8 = (text) => new TextEncoder().encode(text);

/** An address with its EIP-55 checksum, which EIP-4361 requires. Wallets may return it in lower case. */
export function checksummed(address) {
  const digits = address.slice(2).toLowerCase();
  const hash = hex(keccak_256(utf8(digits)));
  return `0x${digits.replace(/[a-f]/g, (digit, at) => (parseInt(hash[at], 16) > 7 ? digit.toUpperCase() : digit))}`;
}

/** The message of EIP-4361 for this page. */
const messageOf = ({ address, chainId, nonce }) =>
  [
    `${location.host} wants you to sign in with your Ethereum account:`,
    address,
    '',
    STATEMENT,
    '',
    `URI: ${location.origin}`,
    'Version: 1',
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${new Date().toISOString()}`,
  ].join('\n');

/**
 * Signs in: asks for account, nonce, signature and token.
 * @param base address of the service, with a trailing slash
 * @param rules hosts and chain that the service accepts; any if not given
 * @param say reports progress
 * @returns {Promise<{ token: string, address: string }>}
 */
export async function signIn(base, { domains, chainId: wanted }, say) {
  if (domains.length > 0 && !domains.includes(location.host))
    throw new Error(
      `This service accepts sign-in on ${domains.join(', ')} only. To try it here, add ${location.host} to SIWE_DOMAINS.`,
    );
  const wallet = await findWallet();
  if (!wallet)
    throw new Error('No wallet found in this browser. Install one, or paste a token under "Authorize".');
  say('Asking the wallet for an account…');
  const [account] = await ask(wallet, 'eth_requestAccounts');
  if (!account) throw new Error('The wallet gave no account.');
  const address = checksummed(account);
  const chainId = await chainOf(wallet, wanted);
  const { nonce } = await post(base, 'auth/nonce', { address });
  const message = messageOf({ address, chainId, nonce });
  say('Waiting for the signature…');
  const signature = await ask(wallet, 'personal_sign', [`0x${hex(utf8(message))}`, account]);
  const { token } = await post(base, 'auth/verify', { message, signature });
  return { token, address };
}

/** Ends the session of the token. */
export const signOut = (base, token) =>
  post(base, 'users/me/logout', {}, { authorization: `Bearer ${token}` });

/** The browser's wallet, or the first wallet that announces itself (EIP-6963). */
async function findWallet() {
  if (window.ethereum) return window.ethereum;
  let found;
  const listen = ({ detail }) => (found ??= detail.provider);
  window.addEventListener('eip6963:announceProvider', listen);
  window.dispatchEvent(new Event('eip6963:requestProvider'));
  await new Promise((resolve) => setTimeout(resolve));
  window.removeEventListener('eip6963:announceProvider', listen);
  return found;
}

/** The chain for the message: the service's, to which the wallet is asked to switch, or else the wallet's. */
async function chainOf(wallet, wanted) {
  const current = Number(await ask(wallet, 'eth_chainId'));
  if (wanted === undefined || current === wanted) return current;
  // Signing needs no connection to the chain, so a wallet that does not know the chain can still sign.
  await ask(wallet, 'wallet_switchEthereumChain', [{ chainId: `0x${wanted.toString(16)}` }]).catch(() => {});
  return wanted;
}

async function ask(wallet, method, params) {
  try {
    return await wallet.request({ method, params });
  } catch (error) {
    throw new Error(
      error.code === REJECTED ? 'You declined in the wallet.' : `The wallet says: ${error.message}`,
    );
  }
}

async function post(base, path, body, headers = {}) {
  const response = await fetch(new URL(path, base), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }).catch(() => {
    throw new Error('The service cannot be reached.');
  });
  const answer = await response.json();
  if (response.ok) return answer.data;
  const wait = response.headers.get('retry-after');
  throw new Error(wait ? `${answer.error}: try again in ${wait} seconds.` : `${answer.error}.`);
}

import { NONCE_LIFETIME_SECONDS } from '#features/access/lifetimes';

/** Why a sign-in was refused, in the log and the metric, and what that means, for developers. */
const REFUSALS = {
  malformed: 'message or signature are missing, too long, or not in the form of EIP-4361',
  domain: 'the message names a domain that is none of this service',
  uri: 'the message names a URI that is none of this service',
  chain: 'the message names another chain',
  not_yet_valid: 'the message is not valid yet; is the clock right?',
  expired: 'the Expiration Time of the message is over',
  signature: 'the signature is not of the address in the message over these very bytes',
  rpc: 'the chain did not answer whether a contract wallet has signed',
  busy: 'too many checks on the chain are running',
  nonce: `the nonce is unknown, used, older than ${NONCE_LIFETIME_SECONDS} seconds, or for another address`,
};

/** For the client only in development: it would help an attacker, too. */
export class SignInRefused extends Error {
  constructor(
    readonly reason: keyof typeof REFUSALS,
    readonly explanation: string = REFUSALS[reason],
  ) {
    super(`sign-in refused: ${reason}`);
  }
}

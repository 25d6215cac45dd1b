/** `rpc`: the chain did not answer; `busy`: too many checks on the chain are running. */
export const REFUSALS = [
  'malformed',
  'domain',
  'uri',
  'chain',
  'not_yet_valid',
  'expired',
  'signature',
  'rpc',
  'busy',
  'nonce',
] as const;

/** Why a sign-in was refused; for the log and the metric, never for the client. */
export class SignInRefused extends Error {
  constructor(readonly reason: (typeof REFUSALS)[number]) {
    super(`sign-in refused: ${reason}`);
  }
}

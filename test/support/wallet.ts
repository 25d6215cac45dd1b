import { type PrivateKeyAccount, generatePrivateKey, privateKeyToAccount } from 'viem/accounts';

export type Wallet = PrivateKeyAccount;

export const newWallet = (): Wallet => privateKeyToAccount(generatePrivateKey());

export interface MessageFields {
  domain: string;
  address: string;
  statement?: string;
  uri: string;
  version: string;
  chainId: number | string;
  nonce: string;
  issuedAt: string;
  expirationTime?: string;
  notBefore?: string;
  requestId?: string;
  resources?: string[];
}

/** An EIP-4361 message built by its ABNF, without the library that the service uses to parse it. */
export function siweMessage(
  fields: Partial<MessageFields> & Pick<MessageFields, 'address' | 'nonce'>,
): string {
  const all: MessageFields = {
    domain: 'app.example.org',
    uri: 'https://app.example.org/login',
    version: '1',
    chainId: 1,
    issuedAt: new Date().toISOString(),
    ...fields,
  };
  const lines = [
    `${all.domain} wants you to sign in with your Ethereum account:`,
    all.address,
    '',
    ...(all.statement === undefined ? [] : [all.statement]),
    '',
    `URI: ${all.uri}`,
    `Version: ${all.version}`,
    `Chain ID: ${all.chainId}`,
    `Nonce: ${all.nonce}`,
    `Issued At: ${all.issuedAt}`,
  ];
  if (all.expirationTime !== undefined) lines.push(`Expiration Time: ${all.expirationTime}`);
  if (all.notBefore !== undefined) lines.push(`Not Before: ${all.notBefore}`);
  if (all.requestId !== undefined) lines.push(`Request ID: ${all.requestId}`);
  if (all.resources) lines.push('Resources:', ...all.resources.map((resource) => `- ${resource}`));
  return lines.join('\n');
}

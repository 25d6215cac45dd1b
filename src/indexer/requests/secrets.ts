import type { RpcEndpoint } from '#ledger/chain/endpoints';

/** Shorter parts of an address are words such as `v2`, not keys. */
const SECRET_LENGTH = 8;
const MAX_MESSAGE_LENGTH = 200;

/**
 * What an endpoint says, without its password and the parts of its address that may be API keys: some providers repeat
 * them in their errors.
 */
export class Secrets {
  private readonly all: string[];

  constructor({ url, headers }: RpcEndpoint) {
    const { pathname, search } = new URL(url);
    const keys = `${pathname}${search}`.split(/[/?&=]/).filter((part) => part.length >= SECRET_LENGTH);
    const basic = headers.authorization?.slice('Basic '.length) ?? '';
    const password = Buffer.from(basic, 'base64')
      .toString('utf8')
      .replace(/^[^:]*:/, '');
    this.all = [...keys, basic, password].filter((secret) => secret !== '');
  }

  printable(message: string): string {
    const shown = this.all.reduce((text, secret) => text.replaceAll(secret, '…'), message);
    return shown.slice(0, MAX_MESSAGE_LENGTH);
  }
}

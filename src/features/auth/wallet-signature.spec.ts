import { type Hex, serializeErc6492Signature } from 'viem';
import { CallReverted, type ChainRpc, ChainUnavailable } from '#ledger/chain/chain-rpc';
import { ContractWallets } from './wallet-signature';

const WALLET = `0x${'a'.repeat(40)}` as const;
const VALID = `0x1626ba7e${'0'.repeat(56)}`;

interface Node {
  code?: string;
  /** The answer of the wallet, or of the validator. */
  result?: unknown;
  refusesDeployless?: boolean;
}

/** Whether a wallet on a node with such answers accepts a signature. */
function accepts(signature: Hex, { code = '0x60', result = VALID, refusesDeployless = false }: Node) {
  const request = (method: string, [call]: [{ to?: string }]): Promise<unknown> => {
    if (method === 'eth_getCode') return Promise.resolve(code);
    if (refusesDeployless && call.to === undefined)
      return Promise.reject(new ChainUnavailable('missing field: to'));
    return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
  };
  return new ContractWallets({ request } as unknown as ChainRpc).verify('message', WALLET, signature);
}

describe('ContractWallets', () => {
  it.each([0, 1, 20, 31, 32, 64, 65, 66, 500])(
    'asks the deployed wallet itself about a signature of %d bytes',
    async (bytes) => {
      const signature: Hex = `0x${'5a'.repeat(bytes)}`;
      expect(await accepts(signature, { refusesDeployless: true })).toBe(true);
      expect(await accepts(signature, { refusesDeployless: true, result: `0x${'f'.repeat(64)}` })).toBe(
        false,
      );
      expect(await accepts(signature, { code: '0x' })).toBe(false);
    },
  );

  it.each([
    '0x',
    '0x1626ba7e',
    `0x${'0'.repeat(56)}1626ba7e`,
    `0x1626ba7e${'f'.repeat(56)}`,
    `0x${'0'.repeat(63)}1`,
    true,
    null,
    new CallReverted(),
  ])('refuses what a wallet answers: %s', async (result) =>
    expect(await accepts('0x', { result })).toBe(false),
  );

  it('asks the validator about a wrapped signature, for a wallet that may have no code', async () => {
    const wrapped = serializeErc6492Signature({ address: WALLET, data: '0x01', signature: '0x' });
    expect(await accepts(wrapped, { code: '0x', result: '0x01' })).toBe(true);
    expect(await accepts(wrapped, { code: '0x', result: '0x00' })).toBe(false);
    expect(await accepts(wrapped, { result: VALID })).toBe(false);
  });
});

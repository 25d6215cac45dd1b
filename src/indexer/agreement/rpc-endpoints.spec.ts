import { RpcError } from '#indexer/reading/rpc';
import { ChainUndecided, RpcEndpoints, chooseChain } from './rpc-endpoints';

const OURS = { chainId: 10, genesis: '0xa' };
const FORK = { chainId: 10, genesis: '0xf' };
const OTHER = { chainId: 20, genesis: '0xb' };
const THIRD = { chainId: 30, genesis: '0xc' };
const DOWN = undefined;

const endpoints = (chains: (typeof OURS | undefined)[]) =>
  chains.map((identity, i) => ({
    name: `host${i}`,
    identity,
    error: identity ? undefined : new Error('down'),
  }));

describe('the chain of the first start', () => {
  it.each([
    ['the only one', [OURS], 1],
    ['that of both', [OURS, OURS], 2],
    ['that of two of three, the first of which is of another', [OTHER, OURS, OURS], 1],
    ['that of two of three, one of which is down', [OURS, DOWN, OURS], 2],
  ])('is %s', (_, chains, agree) => expect(chooseChain(endpoints(chains), agree)).toBe(OURS));

  it.each([
    ['of CHAIN_ID, though the first of two is of another', [OTHER, OURS], 1],
    ['of CHAIN_ID, though two of three are of another', [OTHER, OTHER, OURS], 1],
    ['of CHAIN_ID, though the other is down', [DOWN, OURS], 1],
    ['of most of those of CHAIN_ID', [FORK, OURS, OURS], 2],
  ])('is that %s', (_, chains, agree) => expect(chooseChain(endpoints(chains), agree, 10)).toBe(OURS));

  it.each([
    ['two differ', [OURS, OTHER], 1, undefined],
    ['two of CHAIN_ID differ in their genesis', [OURS, FORK], 1, 10],
    ['three differ', [OURS, OTHER, THIRD], 1, undefined],
    ['one of two is down', [OURS, DOWN], 1, undefined],
    ['fewer than RPC_AGREE are of CHAIN_ID', [OURS, OTHER, OTHER], 2, 10],
    ['fewer than RPC_AGREE are of it', [OURS, OURS, OTHER], 3, undefined],
    ['the one of CHAIN_ID may be the one that is down', [OTHER, DOWN], 1, 10],
  ])('is not guessed when %s', (_, chains, agree, chainId) => {
    const choose = () => chooseChain(endpoints(chains), agree, chainId);
    expect(choose).toThrow(ChainUndecided);
    expect(choose).toThrow(/host0 (is of chain \d0 with genesis|does not answer).*, host1/);
  });

  it('is of no use when all of them are of another than CHAIN_ID, which is then found', () =>
    expect(chooseChain(endpoints([OTHER, THIRD]), 1, 10)).toBe(OTHER));
});

it('where no endpoint gives blocks, the error is that of the reader, which says what is wrong', async () => {
  const refusing = (message: string): unknown => ({
    source: { blocks: () => Promise.reject(new RpcError('eth_getBlockByNumber', -32000, message)) },
  });
  const endpoints = { reader: refusing('history is pruned'), witnesses: () => [refusing('busy')] };
  await expect(RpcEndpoints.prototype.blocks.call(endpoints as never, [7])).rejects.toThrow(
    'history is pruned',
  );
});

import type { Hex } from 'viem';
import { ChainRpc, ChainUnavailable } from '#ledger/chain/chain-rpc';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { SignInRefused } from '#features/auth/sign-in-refused';
import { ContractWallets } from '#features/auth/wallet-signature';
import { Rpc, RpcError, RpcUnavailable } from '#indexer/reading/rpc';
import { KeeperNode } from '#keeper/node';
import { type Reply, RpcNode } from '../support/chain/rpc-node';

/** As a wallet answers that accepts a signature (EIP-1271). */
const ACCEPTED = `0x1626ba7e${'0'.repeat(56)}`;
const ADDRESS: Hex = `0x${'11'.repeat(20)}`;

const body =
  (text: string): Reply =>
  (response) =>
    response.end(text);
const fields =
  (...some: object[]): Reply =>
  (response, [{ id }]) =>
    response.end(JSON.stringify(Object.assign({ jsonrpc: '2.0', id }, ...some)));
const error = (code: number, message: string, data?: string): Reply =>
  fields({ error: { code, message, data } });
/** To a node that would accept everything. */
const redirect: Reply = (response) =>
  response.req.url === '/elsewhere'
    ? fields({ result: ACCEPTED })(response, [{ id: 1, method: '', params: [] }])
    : response.writeHead(308, { location: '/elsewhere' }).end();

type Saying = 'tells' | 'reverts' | 'refuses' | 'says nothing';
/** What a node sends as its answer to a call, and what that is to whoever asked. */
const BEHAVIOURS: [name: string, Reply, Saying, result?: unknown][] = [
  ['a result', fields({ result: ACCEPTED }), 'tells', ACCEPTED],
  ['a result beside an empty error', fields({ result: ACCEPTED, error: null }), 'tells', ACCEPTED],
  ['a number as result', fields({ result: 1 }), 'tells', 1],
  ['an object as result', fields({ result: { toString: 1 } }), 'tells', { toString: 1 }],
  ['a result of another length', fields({ result: '0x11' }), 'tells', '0x11'],
  ['code 3, whatever its words', error(3, 'execution reverted: too many requests per second'), 'reverts'],
  ['code -32015', error(-32015, 'VM execution error.'), 'reverts'],
  ['words for a revert', error(-32000, 'execution reverted'), 'reverts'],
  ['words for an invalid opcode', error(-32000, 'invalid opcode: INVALID'), 'reverts'],
  ['words for a revert in the data', error(-32500, 'failed', 'Reverted 0x'), 'reverts'],
  ['that it lacks the block', error(-32000, 'header not found'), 'refuses'],
  ['an error that is no object', fields({ error: 7 }), 'refuses'],
  ['that it was asked too often', error(-32005, 'daily request count exceeded'), 'says nothing'],
  ['neither result nor error', fields(), 'says nothing'],
  ['nothing', body(''), 'says nothing'],
  ['null', body('null'), 'says nothing'],
  ['text', body('no JSON'), 'says nothing'],
  ['half an answer', body('{"jsonrpc":"2.0","id":'), 'says nothing'],
  ['depth', body('['.repeat(500_000)), 'says nothing'],
  ['502', (response) => response.writeHead(502).end('<html>'), 'says nothing'],
  ['a closed connection', (response) => response.socket!.destroy(), 'says nothing'],
  ['that it is elsewhere', redirect, 'says nothing'],
];

describe.each(BEHAVIOURS)('a node that sends %s', (_, reply, saying, result) => {
  let node: RpcNode;
  let chain: ChainRpc;
  beforeAll(async () => {
    node = await RpcNode.start(() => null);
    node.faults = { http: () => reply };
    chain = new ChainRpc(rpcEndpoints(node.url));
  });
  afterAll(() => node.stop());
  const thrown = (kind: new (...some: never[]) => Error): unknown => expect.any(kind);

  it('is understood by the indexer and verify', async () => {
    const rpc = new Rpc(rpcEndpoints(node.url)[0], undefined, {
      answerMs: 30_000,
      patienceMs: 0,
      backoffMs: 1,
    });
    const [answer] = await rpc.settled([['eth_call', []]]).catch((failure: unknown) => [failure]);
    if (saying === 'tells') expect(answer).toEqual(result);
    else expect(answer).toEqual(thrown(saying === 'says nothing' ? RpcUnavailable : RpcError));
    if (answer instanceof RpcError) expect(answer.isRevert).toBe(saying === 'reverts');
  });

  it('is understood by the keeper', async () => {
    const answer: unknown = await new KeeperNode(chain)
      .read(ADDRESS, '0x')
      .catch((failure: unknown) => failure);
    const silent = saying === 'refuses' || saying === 'says nothing';
    expect(answer).toEqual(silent ? thrown(ChainUnavailable) : result);
  });

  it('signs in whom it accepts, and says when it could not be asked', async () => {
    const signedIn = new ContractWallets(chain)
      .verify('', ADDRESS, '0x')
      .catch((failure: unknown) => failure);
    const silent = saying === 'refuses' || saying === 'says nothing';
    expect(await signedIn).toEqual(silent ? thrown(SignInRefused) : result === ACCEPTED);
  });
});

it('a block time in milliseconds is none to the keeper', async () => {
  const node = await RpcNode.start(() => ({ timestamp: '0x19b7a2d5c00' }));
  const time = new KeeperNode(new ChainRpc(rpcEndpoints(node.url))).time();
  await expect(time).rejects.toThrow('another unit than seconds');
  await node.stop();
});

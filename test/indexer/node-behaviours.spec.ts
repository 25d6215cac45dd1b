import type { Hex } from 'viem';
import { ChainRpc, ChainUnavailable } from '#ledger/chain/chain-rpc';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { SignInRefused } from '#features/auth/sign-in-refused';
import { ContractWallets } from '#features/auth/wallet-signature';
import { Rpc, RpcError, RpcUnavailable } from '#indexer/reading/rpc';
import { KeeperNode } from '#keeper/node';
import { type Reply, RpcNode } from '../support/chain/rpc-node';

/** The answer of a wallet that accepts a signature (EIP-1271). */
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
/** Redirects to a node that would accept everything. */
const redirect: Reply = (response) =>
  response.req.url === '/elsewhere'
    ? fields({ result: ACCEPTED })(response, [{ id: 1, method: '', params: [] }])
    : response.writeHead(308, { location: '/elsewhere' }).end();

type Saying = 'result' | 'revert' | 'refusal' | 'no answer';
/** A node's answer to a call, and how callers understand it. */
const BEHAVIOURS: [name: string, Reply, Saying, result?: unknown][] = [
  ['a result', fields({ result: ACCEPTED }), 'result', ACCEPTED],
  ['a result beside an empty error', fields({ result: ACCEPTED, error: null }), 'result', ACCEPTED],
  ['a number as result', fields({ result: 1 }), 'result', 1],
  ['an object as result', fields({ result: { toString: 1 } }), 'result', { toString: 1 }],
  ['a result of another length', fields({ result: '0x11' }), 'result', '0x11'],
  ['code 3, whatever its words', error(3, 'execution reverted: too many requests per second'), 'revert'],
  ['code -32015', error(-32015, 'VM execution error.'), 'revert'],
  ['words for a revert', error(-32000, 'execution reverted'), 'revert'],
  ['words for an invalid opcode', error(-32000, 'invalid opcode: INVALID'), 'revert'],
  ['words for a revert in the data', error(-32500, 'failed', 'Reverted 0x'), 'revert'],
  ['an error for a block it lacks', error(-32000, 'header not found'), 'refusal'],
  ['an error that is no object', fields({ error: 7 }), 'refusal'],
  ['an error for too many requests', error(-32005, 'daily request count exceeded'), 'no answer'],
  ['neither result nor error', fields(), 'no answer'],
  ['nothing', body(''), 'no answer'],
  ['null', body('null'), 'no answer'],
  ['text', body('no JSON'), 'no answer'],
  ['half an answer', body('{"jsonrpc":"2.0","id":'), 'no answer'],
  ['depth', body('['.repeat(500_000)), 'no answer'],
  ['502', (response) => response.writeHead(502).end('<html>'), 'no answer'],
  ['a closed connection', (response) => response.socket!.destroy(), 'no answer'],
  ['a redirect', redirect, 'no answer'],
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
    if (saying === 'result') expect(answer).toEqual(result);
    else expect(answer).toEqual(thrown(saying === 'no answer' ? RpcUnavailable : RpcError));
    if (answer instanceof RpcError) expect(answer.isRevert).toBe(saying === 'revert');
  });

  it('is understood by the keeper', async () => {
    const answer: unknown = await new KeeperNode(chain)
      .read(ADDRESS, '0x')
      .catch((failure: unknown) => failure);
    const silent = saying === 'refusal' || saying === 'no answer';
    expect(answer).toEqual(silent ? thrown(ChainUnavailable) : result);
  });

  it('signs in accepted wallets, and reports a node that does not answer', async () => {
    const signedIn = new ContractWallets(chain)
      .verify('', ADDRESS, '0x')
      .catch((failure: unknown) => failure);
    const silent = saying === 'refusal' || saying === 'no answer';
    expect(await signedIn).toEqual(silent ? thrown(SignInRefused) : result === ACCEPTED);
  });
});

it('the keeper refuses a block time in milliseconds', async () => {
  const node = await RpcNode.start(() => ({ timestamp: '0x19b7a2d5c00' }));
  const time = new KeeperNode(new ChainRpc(rpcEndpoints(node.url))).time();
  await expect(time).rejects.toThrow('a unit other than seconds');
  await node.stop();
});

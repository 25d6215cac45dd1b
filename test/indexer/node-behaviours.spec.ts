import { type Hex, pad, parseAbi } from 'viem';
import { ChainRpc, ChainUnavailable } from '#ledger/chain/chain-rpc';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import type { RetryKind } from '#ledger/chain/json-rpc';
import { SignInRefused } from '#features/auth/sign-in-refused';
import { ContractWallets } from '#features/auth/wallet-signature';
import { readTokens } from '#indexer/leading/contract-facts';
import { Rpc, RpcError, RpcUnavailable } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { KeeperNode } from '#keeper/node';
import { type Call, type Reply, RpcNode } from '../support/chain/rpc-node';

/** The answer of a wallet that accepts a signature (EIP-1271). */
const ACCEPTED = `0x1626ba7e${'0'.repeat(56)}`;
const ADDRESS: Hex = `0x${'11'.repeat(20)}`;
/** What a contract and its token answer otherwise, but for the symbol. */
const TOKEN: Record<string, Hex> = { '0xfc0c546a': pad(ADDRESS), '0x313ce567': pad('0x12') };

const body =
  (text: string): Reply =>
  (response) =>
    response.end(text);
const fields =
  (...some: object[]): Reply =>
  (response, [{ id }]) =>
    response.end(JSON.stringify(Object.assign({ jsonrpc: '2.0', id }, ...some)));
const OK = { result: ACCEPTED };
const well = fields(OK);
const error = (code: number, message: unknown, data?: unknown): Reply =>
  fields({ error: { code, message, data } });
/** Redirects to a node that would accept everything. */
const redirect: Reply = (response, sent) =>
  response.req.url === '/elsewhere'
    ? well(response, sent)
    : response.writeHead(308, { location: '/elsewhere' }).end();

/** A node's answer to a call, and how callers understand it: a RetryKind is no answer. */
const BEHAVIOURS: [name: string, Reply, 'result' | 'revert' | 'refusal' | RetryKind, result?: unknown][] = [
  ['a result', well, 'result', ACCEPTED],
  ['a result beside an empty error', fields(OK, { error: null }), 'result', ACCEPTED],
  ['an id as text', (to, sent) => fields(OK, { id: `${sent[0].id}` })(to, sent), 'result', ACCEPTED],
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
  ['a message that is no text', error(-32000, { toString: 1 }, { toString: 1 }), 'refusal'],
  ['an error without id', fields({ id: null, error: { code: -32700, message: 'parse error' } }), 'refusal'],
  ['an error for too many requests', error(-32005, 'daily request count exceeded'), 'rate_limit'],
  ['too many requests as error', fields({ error: 'too many requests' }), 'rate_limit'],
  ['429', (response) => response.writeHead(429).end('slow down'), 'rate_limit'],
  ['429 with a result', (response, sent) => well(response.writeHead(429), sent), 'rate_limit'],
  ['neither result nor error', fields(), 'incomplete'],
  ['another id', fields(OK, { id: 0 }), 'incomplete'],
  ['a revert with another id', fields({ id: 0, error: { code: 3, message: 'reverted' } }), 'incomplete'],
  ['an id that is no text', fields(OK, { id: { toString: 1 } }), 'incomplete'],
  ['a list of nothing', body('[null,true,"x"]'), 'incomplete'],
  ['nothing', body(''), 'http'],
  ['null', body('null'), 'http'],
  ['a text as JSON', body('"upstream error"'), 'http'],
  ['text', body('no JSON'), 'http'],
  ['half an answer', body('{"jsonrpc":"2.0","id":'), 'http'],
  ['depth', body('['.repeat(500_000)), 'http'],
  ['502', (response) => response.writeHead(502).end('<html>'), 'http'],
  ['a closed connection', (response) => response.socket!.destroy(), 'network'],
  ['a redirect', redirect, 'network'],
];

describe.each(BEHAVIOURS)('a node that sends %s', (_, reply, saying, result) => {
  let node: RpcNode;
  let chain: ChainRpc;
  let rpc: Rpc;
  const retries: RetryKind[] = [];
  const isHonest = ({ params: [call] }: Call): boolean => call?.data in TOKEN;
  beforeAll(async () => {
    node = await RpcNode.start((_, [{ data }]) => TOKEN[data]);
    node.faults = { http: () => (node.requests.at(-1)!.every(isHonest) ? 'ok' : reply) };
    chain = new ChainRpc(rpcEndpoints(node.url));
    const times = { answerMs: 30_000, patienceMs: 0, backoffMs: 1 };
    rpc = new Rpc(rpcEndpoints(node.url)[0], (kind) => retries.push(kind), times);
  });
  afterAll(() => node.stop());
  const outcome = (work: Promise<unknown>): Promise<unknown> => work.catch((failure: unknown) => failure);
  const thrown = (kind: new (...some: never[]) => Error): unknown => expect.any(kind);
  const isRetried = !['result', 'revert', 'refusal'].includes(saying);
  const isSilent = isRetried || saying === 'refusal';

  it('is understood by the indexer and verify', async () => {
    const answer = await outcome(rpc.batch([['eth_call', []]]).then(([answer]) => answer));
    if (saying === 'result') expect(answer).toEqual(result);
    else expect(answer).toEqual(thrown(isRetried ? RpcUnavailable : RpcError));
    if (answer instanceof RpcError) expect(answer.isRevert).toBe(saying === 'revert');
    expect(retries).toEqual(isRetried ? [saying] : []);
  });

  it('is understood by the reading of a token, here of its symbol', async () => {
    const reader = { source: { rpc } } as WatchedEndpoint;
    const found = await readTokens([reader], [ADDRESS]);
    const symbol = saying === 'revert' ? '' : (expect.any(String) as unknown);
    const token = { contract: ADDRESS, address: ADDRESS, decimals: 18, symbol };
    expect(found?.known).toEqual(isSilent ? undefined : [token]);
  });

  it('is understood by the keeper', async () => {
    const abi = parseAbi(['function value() view returns (bytes32)']);
    const answer = await outcome(new KeeperNode(chain).read(ADDRESS, abi, 'value', []));
    const isForm = [ACCEPTED, undefined].includes(result as Hex | undefined);
    expect(answer).toEqual(isSilent ? thrown(ChainUnavailable) : isForm ? result : thrown(Error));
  });

  it('signs in accepted wallets, and reports a node that does not answer', async () => {
    const signedIn = await outcome(new ContractWallets(chain).verify('', ADDRESS, '0x'));
    expect(signedIn).toEqual(isSilent ? thrown(SignInRefused) : result === ACCEPTED);
  });
});

it('the keeper refuses a block time in milliseconds', async () => {
  const node = await RpcNode.start(() => ({ timestamp: '0x19b7a2d5c00' }));
  const time = new KeeperNode(new ChainRpc(rpcEndpoints(node.url))).time();
  await expect(time).rejects.toThrow('a unit other than seconds');
  await node.stop();
});

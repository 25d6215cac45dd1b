import { encodeAbiParameters, pad, stringToHex, toFunctionSelector } from 'viem';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { type Call, RpcError, RpcUnavailable } from '#indexer/reading/rpc';
import { NATIVE_COIN } from '#ledger/adapters/pool-contract';
import { readTokens } from './contract-facts';

const [POOL, LOTTERY, TOKEN, OTHER] = ['1', '2', 'A', 'b'].map((digit) => `0x${digit.repeat(40)}`);
const CONTRACTS = [POOL, LOTTERY];
const word = (address: string): string => pad(address as '0x');
const text = (value: string): string => encodeAbiParameters([{ type: 'string' }], [value]);
const [token, asset, symbol, decimals] = ['0xfc0c546a', '0x38d52e0f', '0x95d89b41', '0x313ce567'];
const reverted = new RpcError('eth_call', 3, 'execution reverted', true);

/** An endpoint that answers calls of `address selector` so, and reverts for all others. */
const endpoint = (answers: Record<string, unknown>, fails?: Error): WatchedEndpoint =>
  ({
    source: {
      rpc: {
        settled: (calls: Call[]) =>
          fails
            ? Promise.reject(fails)
            : Promise.resolve(
                calls.map(([, [{ to, data }]]: any) => answers[`${to} ${data}`.toLowerCase()] ?? reverted),
              ),
      },
    },
  }) as unknown as WatchedEndpoint;
const lower = TOKEN.toLowerCase();
const honest = {
  [`${POOL} ${token}`]: word(TOKEN),
  [`${LOTTERY} ${token}`]: word(TOKEN),
  [`${lower} ${symbol}`]: text('DAI'),
  [`${lower} ${decimals}`]: word('0x12'),
};
const lying = {
  [`${POOL} ${token}`]: word(OTHER),
  [`${LOTTERY} ${token}`]: word(OTHER),
  [`${OTHER} ${symbol}`]: text('DAI'),
  [`${OTHER} ${decimals}`]: word('0x12'),
};
const DAI = { address: lower, symbol: 'DAI', decimals: 18 };
const bothHave = (token: object): object => ({
  known: CONTRACTS.map((contract) => ({ contract, ...token })),
  unknown: new Map(),
});
const NONE = 'it names no token by token() or asset()';
const read = (...answers: object[]) =>
  readTokens(
    answers.map((each) => endpoint(each as Record<string, unknown>)),
    CONTRACTS,
  );

describe('the token of a contract', () => {
  it('is read with symbol and decimals', async () => {
    expect(await read(honest)).toEqual(bothHave(DAI));
  });

  it('is the asset of a contract without token()', async () => {
    const vault = { ...honest, [`${POOL} ${token}`]: reverted, [`${POOL} ${asset}`]: word(TOKEN) };
    expect(await read(vault)).toEqual(bothHave(DAI));
  });

  it('is what the adapter names: a view of the contract, or an address', async () => {
    const view = toFunctionSelector('function MUSD()');
    const node = endpoint({ ...honest, [`${POOL} ${token}`]: word(OTHER), [`${POOL} ${view}`]: word(TOKEN) });
    const readBy = (of: string) => readTokens([node], CONTRACTS, (each) => (each === POOL ? of : undefined));
    expect(await readBy('MUSD()')).toEqual(bothHave(DAI));
    expect(await readBy(TOKEN)).toEqual(bothHave(DAI));
    expect((await readBy('BTC()'))!.unknown).toEqual(new Map([[POOL, 'it names no token by BTC()']]));
  });

  it("is the chain's own coin where the adapter says so, and one coin of all contracts", async () => {
    const node = endpoint({ ...honest, [`${POOL} ${token}`]: word(NATIVE_COIN) });
    const coin = { symbol: 'BTC', decimals: 18 };
    const readBy = (...of: object[]) =>
      readTokens([node, node], CONTRACTS, (each) => of[CONTRACTS.indexOf(each)] as typeof coin);
    const known = { contract: POOL, address: NATIVE_COIN, ...coin };
    expect((await readBy(coin))!.known).toEqual([known, { contract: LOTTERY, ...DAI }]);
    const reason = 'its coin is BTC of 8 decimals, and that of other contracts BTC of 18 decimals';
    expect(await readBy(coin, { ...coin, decimals: 8 })).toEqual({
      ...{ known: [known], unknown: new Map([[LOTTERY, reason]]) },
    });
    const unsaid = `its token ${NATIVE_COIN} has no decimals()`;
    expect((await readBy())!.unknown).toEqual(new Map([[POOL, unsaid]]));
  });

  it('needs no asset() where the contract has token(), whatever the node says to that', async () => {
    const failing = new RpcError('eth_call', -32000, 'some error');
    expect(await read({ ...honest, [`${POOL} ${asset}`]: failing })).toEqual(bothHave(DAI));
  });

  it.each([
    ['bytes32', pad(stringToHex('MKR'), { dir: 'right', size: 32 }), 'MKR'],
    ['none', reverted, ''],
    ['empty', '0x', ''],
    ['malformed', `0x${'f'.repeat(192)}`, ''],
    ['no text', 17, ''],
    ['too long', text('x'.repeat(100_000)), ''],
    ['long', text('x'.repeat(100)), 'x'.repeat(32)],
    ['spaced and invisible', text(' U\u0000S\u202eD\n\u200b '), 'U S D'],
    ['no UTF-8', pad('0xff41', { dir: 'right', size: 32 }), '\ufffdA'],
  ])('symbol: %s', async (_, answer, expected) => {
    const found = await read({ ...honest, [`${lower} ${symbol}`]: answer });
    expect(found).toEqual(bothHave({ ...DAI, symbol: expected }));
  });

  it.each([
    ['none', reverted],
    ['empty', '0x'],
    ['too many', word('0x100')],
    ['a string', text('18')],
  ])('is not known without decimals: %s', async (_, answer) => {
    const reason = `its token ${lower} has no decimals()`;
    const unknown = new Map(CONTRACTS.map((contract) => [contract, reason]));
    expect(await read({ ...honest, [`${lower} ${decimals}`]: answer })).toEqual({ known: [], unknown });
  });

  it.each([
    ['reverts', reverted],
    ['is no contract', '0x'],
    ['answers with zero', word('0x0')],
    ['answers with something else', text('token')],
  ])('is not known of a contract that %s, which is no reason against others', async (_, answer) => {
    const found = await read({ ...honest, [`${LOTTERY} ${token}`]: answer });
    expect(found).toEqual({ known: [{ contract: POOL, ...DAI }], unknown: new Map([[LOTTERY, NONE]]) });
  });

  it('is not known when the node lacks the state, or fails', async () => {
    const lacking = new RpcError('eth_call', -32000, 'header not found');
    expect(await read({ ...honest, [`${LOTTERY} ${token}`]: lacking })).toBeUndefined();
    expect(await read({ ...honest, [`${lower} ${symbol}`]: lacking })).toBeUndefined();
    const failing = endpoint({}, new RpcUnavailable('timeout'));
    expect(await readTokens([failing], CONTRACTS)).toBeUndefined();
    expect(await readTokens([failing, endpoint(honest)], CONTRACTS)).toEqual(bothHave(DAI));
  });

  it('is told for each contract, where they have several', async () => {
    const euro = { [`${OTHER} ${symbol}`]: text('EURC'), [`${OTHER} ${decimals}`]: word('0x6') };
    const both = { ...honest, ...euro, [`${LOTTERY} ${token}`]: word(OTHER) };
    expect((await read(both))!.known).toEqual([
      { contract: POOL, ...DAI },
      { contract: LOTTERY, address: OTHER, symbol: 'EURC', decimals: 6 },
    ]);
  });

  it('is what the majority says: no endpoint alone names another, or stops the indexer', async () => {
    const splitting = { ...honest, [`${LOTTERY} ${token}`]: word(OTHER) };
    for (const liar of [lying, splitting, {}]) {
      expect(await read(liar, honest, honest)).toEqual(bothHave(DAI));
      expect(await read(liar, honest)).toBeUndefined();
    }
  });
});

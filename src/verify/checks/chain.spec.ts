import { type AbiFunction, type Hex, encodeFunctionResult, parseAbiItem } from 'viem';
import type { Client } from 'pg';
import { CallsUsedUp, type Holding, questionsOf } from '#verify/contract/holdings';
import { OtherBlock, amountOf, differing } from './chain';
import { Findings } from './findings';
import { Look } from './look';

const VAULT = `0x${'1a'.repeat(20)}`;
const ACCOUNT = `0x${'1'.repeat(40)}`;

describe('what a view of an adapter answers', () => {
  const holding = (balance: string): Holding => ({
    ...{
      id: '00000000-0000-7000-8000-000000000001',
      contract: VAULT,
      cursorNumber: '9',
      cursorHash: '0x',
      block: '9',
      circle: false,
    },
    ...{ total: null, holders: [{ account: ACCOUNT, amount: '5', position: null }] },
    others: { name: '1', isNamed: true, balance, total: null },
  });
  const answered = (balance: string, answer: Hex): bigint | string =>
    amountOf(answer, questionsOf(holding(balance))[0]);

  it.each([
    [
      'one of several values',
      'of(address account) returns (uint64 since, uint128 value, bool)',
      [3n, 7n, true],
    ],
    [
      'a component of a struct with text',
      'of(uint256 pool, address account) returns ((string name, uint256 value) member)',
      { name: 'x'.repeat(40), value: 7n },
    ],
    [
      'a component without a name beside it',
      'of(address account) returns ((address, (uint32 value, bool) inner) member)',
      [`0x${'1c'.repeat(20)}`, [7, true]],
    ],
  ])('is %s', (_, signature, result) => {
    const item = parseAbiItem(`function ${signature}`) as AbiFunction;
    const answer = encodeFunctionResult({ abi: [item], result } as never);
    expect(answered(signature, answer)).toBe(7n);
  });

  it('is not told by an answer of another form', () => {
    const word = '00'.repeat(31);
    const silent = `chain.balance of contract ${VAULT}: it does not tell`;
    expect(answered('of(address account)', `0x${word}07`)).toBe(7n);
    expect(answered('of(address account)', `0x${word}07${word}01`)).toBe(silent);
    expect(answered('of(address account) returns (bool, uint256 value)', `0x${word}07`)).toBe(silent);
  });
});

it('reports the lack of calls, rather than a node that lagged before and has answered since', async () => {
  const found = { kind: 'chain.seq', id: VAULT, found: '1', wanted: '2', subjects: [] };
  const compare = jest
    .fn()
    .mockRejectedValueOnce(new OtherBlock('lagging'))
    .mockResolvedValueOnce([found])
    .mockRejectedValueOnce(new CallsUsedUp('used up'));
  const client = { query: () => Promise.resolve({ rows: [{}] }) } as unknown as Client;
  const look = new Look(client, new Findings(1));
  await expect(differing(look, [VAULT], '', 1, compare)).rejects.toThrow(CallsUsedUp);
});

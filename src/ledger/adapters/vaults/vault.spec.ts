import { zeroAddress } from 'viem';
import { Vault } from './vault';

const [A, B] = ['a', 'b'].map((digit) => `0x${digit.repeat(40)}` as const);
const vault = new Vault();

describe('a vault', () => {
  it('reports transfers of shares with sender and recipient, even if that is the zero address', () => {
    const transfer = (from: typeof A, to: typeof A, value = 1n) => vault.transfer({ from, to, value });
    expect(transfer(A, B)).toEqual({ kind: 'SharesMoved', holder: A, account: B, shares: 1n });
    expect(transfer(zeroAddress, A)).toMatchObject({ holder: zeroAddress, account: A });
    expect([transfer(A, A), transfer(A, B, 0n)]).toEqual([undefined, undefined]);
  });

  it('tells nothing where nothing was taken out, which anyone can do for anyone', () => {
    const of = { sender: B, receiver: B, owner: A };
    expect(vault.withdraw({ ...of, assets: 0n, shares: 0n })).toBeUndefined();
    expect(vault.withdraw({ ...of, assets: 0n, shares: 1n })).toMatchObject({
      kind: 'SharesSold',
      account: A,
    });
  });
});

import { type Hex, decodeFunctionData } from 'viem';
import { byPoolType } from '#values/types';
import { tokenAbi } from '#ledger/chain/contract.abi';
import { CONTRACTS, type SignedIn, TEN, useApp } from '../support/app';
import { accrue, addTransaction } from '../support/ledger';

const [FIRST, EURO, YEN] = ['a', 'b', 'c'].map((digit) => `0x${digit.repeat(40)}`);
const SMALL = '5000000';
const app = useApp({ MIN_DEPOSITS: `${CONTRACTS.lottery}=${SMALL},${CONTRACTS.rotating}=1` });

/** As an indexer has read it: lottery pools are in another token, and rotating ones in a third. */
beforeAll(async () => {
  await app.sql(`INSERT INTO chain_facts VALUES (1, 31337, $1, 'DAI', 18)`, [FIRST]);
  for (const [contract, token, symbol, decimals] of [
    [CONTRACTS.individual, FIRST, 'DAI', 18],
    [CONTRACTS.cooperative, FIRST, 'DAI', 18],
    [CONTRACTS.lottery, EURO, 'EURC', 6],
    [CONTRACTS.rotating, YEN, 'JPYC', 0],
  ])
    await app.sql('INSERT INTO chain_tokens VALUES ($1, $2, $3, $4)', [contract, token, symbol, decimals]);
});

describe('amounts of several tokens', () => {
  const get = async (path: string, as: SignedIn): Promise<any> => (await app.get(path, as)).body.data;
  let user: SignedIn;
  let [own, euros, ownDay, euroDay]: string[] = [];

  beforeAll(async () => {
    user = await app.signIn();
    const pools = [
      await app.createPool(user, { type: 'individual' }),
      await app.createPool(user, { type: 'lottery', initialDeposit: SMALL }),
    ];
    [own, euros] = pools.map(({ id }) => id as string);
    [ownDay, euroDay] = pools.map(({ createdAt }) => (createdAt as string).slice(0, 10));
    await accrue(app, own, '100', 500);
    await accrue(app, euros, '7', 300);
    const [inOwn, inEuros] = pools.map(({ id: poolId, createdAt }) => ({
      ...{ poolId, account: user.address, createdAt: new Date(createdAt as string) },
    }));
    await addTransaction(app, { ...inEuros, amount: '40' });
    await addTransaction(app, { ...inEuros, type: 'YIELD_CLAIM', amount: '3' });
    await addTransaction(app, { ...inOwn, type: 'YIELD_CLAIM', amount: '50' });
  });

  it('never meet in a sum over all pools', async () => {
    const euro = { token: EURO, symbol: 'EURC', decimals: 6 };
    expect(await get('/analytics/pools', user)).toEqual({
      totalPools: 2,
      totalDeposits: TEN,
      pendingDeposits: TEN,
      totalYield: '100',
      averageAPR: 5,
      byType: { ...byPoolType(() => 0), individual: 1, lottery: 1 },
      otherTokens: [
        {
          ...euro,
          ...{
            totalPools: 1,
            totalDeposits: '5000040',
            pendingDeposits: SMALL,
            totalYield: '7',
            averageAPR: 3,
          },
        },
        {
          ...{ token: YEN, symbol: 'JPYC', decimals: 0 },
          ...{ totalPools: 0, totalDeposits: '0', pendingDeposits: '0', totalYield: '0', averageAPR: 0 },
        },
      ],
    });
  });

  it('never meet in a sum of a user, who is told of the tokens that he has', async () => {
    expect(await get('/analytics/user', user)).toEqual({
      totalDeposited: TEN,
      pendingDeposits: TEN,
      totalYield: '100',
      yieldEarned: '50',
      activePoolsCount: 2,
      averageAPR: 5,
      joinedAt: user.user.createdAt,
      chartData: { deposits: [{ date: ownDay, amount: TEN }], yields: [{ date: ownDay, amount: '50' }] },
      otherTokens: [
        {
          ...{ token: EURO, symbol: 'EURC', decimals: 6 },
          totalDeposited: '5000040',
          pendingDeposits: SMALL,
          totalYield: '7',
          yieldEarned: '3',
          activePoolsCount: 1,
          averageAPR: 3,
          chartData: {
            deposits: [{ date: euroDay, amount: '5000040' }],
            yields: [{ date: euroDay, amount: '3' }],
          },
        },
      ],
    });
    expect(await get('/auth/me', user)).toMatchObject({ poolCount: 2, totalDeposits: TEN });
  });

  it('are what each contract takes, and a wallet allows it its own token', async () => {
    expect(await get('/config', user)).toMatchObject({
      token: { address: FIRST, symbol: 'DAI', decimals: 18 },
      contractTokens: {
        [CONTRACTS.cooperative]: { address: FIRST, symbol: 'DAI', decimals: 18 },
        [CONTRACTS.lottery]: { address: EURO, symbol: 'EURC', decimals: 6 },
      },
      minimumDeposit: TEN,
      minimumDeposits: { [CONTRACTS.lottery]: SMALL, [CONTRACTS.rotating]: '1' },
    });
    for (const [pool, token, contract] of [
      [own, FIRST, CONTRACTS.individual],
      [euros, EURO, CONTRACTS.lottery],
    ]) {
      const { calls } = await get(`/pools/${pool}/calls/deposit?amount=9`, user);
      const [allowance] = calls as { name: string; to: string; data: Hex }[];
      expect(allowance).toMatchObject({ name: 'approve', to: token });
      const { args } = decodeFunctionData({ abi: tokenAbi, data: allowance.data });
      expect([String(args[0]).toLowerCase(), args[1]]).toEqual([contract, 9n]);
    }
  });

  it('are of an unknown token where the contract was not read yet: then nothing is to be allowed', async () => {
    await app.sql('DELETE FROM chain_tokens WHERE contract = $1', [CONTRACTS.individual]);
    await app.sql(
      `INSERT INTO chain_contracts (type, address, position, from_block) VALUES ('individual', $1, 0, 1)`,
      [CONTRACTS.individual],
    );
    // The amounts could be of any token: no sum has them.
    expect(await get('/analytics/pools', user)).toMatchObject({ totalDeposits: '0', totalYield: '0' });
    expect(await get('/analytics/user', user)).toMatchObject({ totalDeposited: '0', yieldEarned: '0' });
    expect(await get('/auth/me', user)).toMatchObject({ totalDeposits: '0' });
    const { otherContracts } = await get('/users/me/start', user);
    expect(otherContracts).toContain(CONTRACTS.individual);
    const answer = await app.get(`/pools/${own}/calls/deposit?amount=9`, user);
    expect([answer.status, answer.body.code]).toEqual([503, 'chain_unknown']);
  });
});

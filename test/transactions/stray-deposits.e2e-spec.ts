import { v7 as uuidv7 } from 'uuid';
import { decodeFunctionData } from 'viem';
import { bytes16 } from '#values/bytes16';
import { savingsPoolAbi } from '#ledger/chain/contract.abi';
import { CONTRACTS, type SignedIn, useApp } from '../support/app';

const app = useApp();
const NOWHERE = uuidv7();
let payer: SignedIn;
let other: SignedIn;
let pool: string;

let block = 0;
/** An event that an indexer has read and set aside. */
const event = (kind: string, contract: string, poolId: string, amount: number, fields: object = {}) => {
  const { account, outcome } = { account: payer.address, outcome: 'UNKNOWN_POOL', ...fields };
  return app.sql(
    `INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id,
       account, amount, outcome)
     VALUES ($1, 0, '', now(), '', $2, $1, $3, $4, $5, $6, $7)`,
    [++block, contract, kind, poolId, account, amount, outcome],
  );
};
const strays = async (query = '', as = payer): Promise<any> =>
  (await app.get(`/users/me/stray-deposits${query}`, as)).body;

beforeAll(async () => {
  [payer, other] = [await app.signIn(), await app.signIn()];
  pool = (await app.createPool(payer, { type: 'cooperative' })).id as string;
  await app.sql('INSERT INTO chain_facts (chain_id) VALUES (5)');
  const { cooperative, lottery } = CONTRACTS;
  await event('Deposited', cooperative, NOWHERE, 70);
  await event('Deposited', cooperative, NOWHERE, 30);
  await event('Withdrawn', cooperative, NOWHERE, 45);
  await event('Deposited', cooperative, NOWHERE, 5, { account: other.address });
  // A pool that the service knows, at a contract that it does not belong to, and at its own.
  await event('Deposited', lottery, pool, 9, { outcome: 'REFUSED' });
  await event('Deposited', cooperative, pool, 8, { outcome: 'REFUSED' });
  await event('Deposited', cooperative, pool, 7, { outcome: 'APPLIED' });
  const gone = uuidv7();
  await event('Deposited', cooperative, gone, 6);
  await event('Withdrawn', cooperative, gone, 6);
});

it('what was paid in for no pool of the contract is listed for its payer, with the call that withdraws it', async () => {
  const { data, pagination } = await strays();
  expect(pagination).toEqual({ page: 1, limit: 20, total: 2, pages: 1 });
  const expected = [
    [CONTRACTS.cooperative, NOWHERE, '55'],
    [CONTRACTS.lottery, pool, '9'],
  ];
  for (const [i, [contract, poolId, amount]] of expected.entries()) {
    expect(data[i]).toMatchObject({ contract, poolId, amount });
    const [{ to, data: encoded, chainId }] = data[i].calls;
    expect([to, chainId]).toEqual([contract, 5]);
    expect(decodeFunctionData({ abi: savingsPoolAbi, data: encoded })).toEqual({
      functionName: 'withdraw',
      args: [bytes16(poolId), `0x${'0'.repeat(32)}`, BigInt(amount)],
    });
  }
  expect((await strays('?limit=1&page=2')).data).toEqual([data[1]]);
  expect((await strays('', other)).data).toMatchObject([{ poolId: NOWHERE, amount: '5' }]);
});

it.each([
  ['names pools by accounts', `pools_by = 'account'`],
  ['has calls of its own', `calls = '{}'`],
  ['holds circles', 'circles = true'],
])('no call is offered at a contract that %s', async (_, change) => {
  await app.sql(
    `INSERT INTO chain_contracts (type, address, position, from_block) VALUES ('lottery', $1, 0, 1)`,
    [CONTRACTS.lottery],
  );
  await app.sql(`UPDATE chain_contracts SET ${change}`);
  const { data } = await strays();
  await app.sql('DELETE FROM chain_contracts');
  expect(data.map(({ calls }: { calls: unknown[] }) => calls.length)).toEqual([1, 0]);
});

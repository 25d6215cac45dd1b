import { randomBytes } from 'node:crypto';
import { type Hash, encodeFunctionData, parseGwei } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { bytes16 } from '#values/bytes16';
import type { PoolType } from '#values/types';
import { AMOUNT_EXAMPLE, ID_EXAMPLE } from '#api/documents/examples';
import { type ContractName, type Deployment, artifacts, connect, devKey, receiptOf } from './deploy';
import { withClient } from './postgres';

const TYPE: PoolType = 'cooperative';
/** Given, so that the second transaction has the hash that the document has for an example. */
const FEES = { gas: 500_000n, maxFeePerGas: parseGwei('10'), maxPriorityFeePerGas: parseGwei('1') };

/**
 * Pays the pool of the document's examples on a new chain, from the account that is offered for trying out. The indexer
 * finds the payment once `seedExamples` has announced it.
 * @returns the hash of the payment
 */
export async function payExample(rpcUrl: string, { token, contracts }: Deployment): Promise<Hash> {
  const client = await connect(rpcUrl, privateKeyToAccount(devKey().privateKey));
  const send = async (nonce: number, name: ContractName, functionName: string, args: unknown[]) => {
    const { abi } = artifacts[name];
    const to = name === 'TestToken' ? token : contracts[TYPE];
    const data = encodeFunctionData({ abi, functionName, args });
    const hash = await client.sendTransaction({ ...FEES, nonce, to, data });
    await receiptOf(client, hash);
    return hash;
  };
  const amount = BigInt(AMOUNT_EXAMPLE);
  await send(0, 'TestToken', 'approve', [contracts[TYPE], amount]);
  const id = bytes16(ID_EXAMPLE);
  return send(1, 'SavingsPool', 'deposit', [id, id, amount]);
}

/**
 * What the examples of the OpenAPI document name, so that "Execute" in /docs finds it: of the account that is offered for
 * trying out, a pool, its deposit, and a webhook that nothing is sent to, with a delivery. All have the same id.
 */
export async function seedExamples(databaseUrl: string, { contracts }: Deployment): Promise<void> {
  const address = devKey().address.toLowerCase();
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  await withClient(databaseUrl, async (client) => {
    await client.query('BEGIN');
    const { rows } = await client.query<{ id: string; fresh: boolean }>(
      `WITH made AS (
         INSERT INTO users (id, address, created_at) VALUES (gen_random_uuid(), $1, now())
         ON CONFLICT (address) DO NOTHING RETURNING id
       )
       SELECT id, NOT EXISTS (SELECT FROM pools WHERE id = $2) AS fresh
       FROM (TABLE made UNION SELECT id FROM users WHERE address = $1) owner`,
      [address, ID_EXAMPLE],
    );
    if (rows[0].fresh) {
      await client.query(
        `INSERT INTO new_pools VALUES (ARRAY[$1::uuid], ARRAY[$2], ARRAY[$3::uuid], ARRAY[$4], ARRAY[false],
           ARRAY['{}'], ARRAY[now()], ARRAY[$5], ARRAY[$1::uuid], ARRAY[$6::numeric])`,
        [ID_EXAMPLE, TYPE, rows[0].id, contracts[TYPE].toLowerCase(), address, AMOUNT_EXAMPLE],
      );
      await client.query(
        `INSERT INTO webhooks (id, user_id, address, slot, url, host, secret, status)
         VALUES ($1, $2, $3, 1, 'https://backend.example.org/savings-events', 'backend.example.org', $4, 'DISABLED')`,
        [ID_EXAMPLE, rows[0].id, address, secret],
      );
      await client.query(
        `INSERT INTO webhook_deliveries (id, webhook_id, event_id, topic, status)
         VALUES ($1, $1, '0000000002f1-00000000001a-0001', 'test', 'FAILED')`,
        [ID_EXAMPLE],
      );
    }
    await client.query('COMMIT');
  });
}

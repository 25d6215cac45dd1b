import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { openCursor } from '#indexer/agreement/chain-identity';
import { followContracts } from '#indexer/contracts/contract-set';
import { connect } from '#indexer/leading/leader';
import { EventWriter } from '#indexer/ledger/event-writer';
import { loadEnvironment } from '#settings/environment';
import { POOL_TYPES } from '#values/types';
import { type TestDatabase, freshDatabase } from '../support/database';
import { PaperNode } from '../support/chain/paper-node';

const OLD = `0x${'1'.repeat(40)}`;
const NEW = `0x${'2'.repeat(40)}`;
const LATER = `0x${'3'.repeat(40)}`;
const hash = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`;

describe('contracts with start blocks of their own', () => {
  let database: TestDatabase;
  let client: Client;
  let node: PaperNode;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    database = await freshDatabase();
    client = await connect(database.url);
    node = await PaperNode.start((method, [first]: unknown[]) => {
      if (method === 'eth_chainId') return '0x1';
      if (method === 'eth_getCode') return '0x01';
      if (method !== 'eth_getBlockByNumber') return `0x${'5'.padStart(64, '0')}`;
      const number = Number(first);
      return {
        number: first,
        hash: hash(number),
        parentHash: hash(Math.max(number - 1, 0)),
        timestamp: '0x64',
      };
    });
  });
  afterAll(async () => {
    await client.end();
    await node.stop();
    await database.drop();
  });

  /** Opens the ledger as the leader does. @returns where the cursor stands */
  async function open(contracts: string[], START_BLOCK: string): Promise<number> {
    const settings = loadEnvironment(
      {
        DATABASE_URL: database.url,
        RPC_URL: node.url,
        START_BLOCK,
        POOL_CONTRACTS: [
          ...POOL_TYPES.map((type) => `${type}=${contracts[0]}`),
          ...contracts.slice(1).map((address) => `lottery=${address}`),
        ].join(),
      },
      'indexer',
    );
    const writer = new EventWriter(client, { confirmations: 0, pendingTtl: 60, lotteries: new Set() });
    const { source } = node.endpoint;
    const cursor = await openCursor(client, writer, source, settings);
    await followContracts(client, source, cursor, settings, new Logger('test'));
    return cursor.number;
  }
  const apart = async (): Promise<unknown[]> =>
    (
      await client.query(
        `SELECT address, block_number::int AS block, block_hash AS hash, state
         FROM chain_contracts_apart ORDER BY block_number`,
      )
    ).rows;

  it('are read from the earliest of them on a new ledger', async () => {
    expect(await open([OLD], `${OLD}:500,700`)).toBe(499);
    expect(await apart()).toEqual([]);
  });

  it('are read apart from there when they are added behind the cursor', async () => {
    await client.query(`UPDATE chain_cursor SET block_number = 900, block_hash = $1`, [hash(900)]);
    expect(await open([OLD, NEW, LATER], `600,${OLD}:500,${NEW}:800,${LATER}:901`)).toBe(900);
    expect(await apart()).toEqual([{ address: NEW, block: 799, hash: hash(799), state: 'catching_up' }]);
    const { rows } = await client.query(
      `SELECT DISTINCT address, from_block::int AS from FROM chain_contracts ORDER BY 1`,
    );
    expect(rows).toEqual([
      { address: OLD, from: 500 },
      { address: NEW, from: 800 },
      { address: LATER, from: 901 },
    ]);
  });
});

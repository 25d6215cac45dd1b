import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { type Address, type Hex, encodeFunctionData, parseEther, parseEventLogs, toHex } from 'viem';
import { bytes16 } from '#values/bytes16';
import { contractAbi } from '#ledger/chain/contract.abi';
import { rpcEndpoints } from '#ledger/chain/endpoints';
import { POOL_POSITION } from '#features/positions/positions.sql';
import { loadEnvironment } from '#settings/environment';
import { openCursor } from '#indexer/agreement/chain-identity';
import { connect } from '#indexer/leading/leader';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import { EventWriter } from '#indexer/ledger/event-writer';
import { Rpc } from '#indexer/reading/rpc';
import { WINDOW_BLOCKS } from '#indexer/reading/block-batch';
import { Source } from '#indexer/reading/source';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import * as dev from '#dev/deploy';
import { decoderFor } from './adapters';
import { until } from '../app';
import { type TestDatabase, freshDatabase } from '../database';

/** Enough for every call; given, so that nothing is estimated and a call that reverts is mined all the same. */
const GAS = toHex(1_000_000);
const ACCOUNTS = 4;
export const NO_REF = bytes16('0'.repeat(32));
const { abi } = dev.artifacts.LotteryPool;

export interface Account {
  balance: string;
  claimable: string;
  compounding: boolean;
}
interface Answer extends Account {
  deposited: string;
  withdrawn: string;
  claimed: string;
  earned: string;
  blockNumber: number;
}
export interface PoolOf {
  id: string;
  contract: Address;
}

/** A chain with two SavingsPool contracts and a LotteryPool, and a database that their events are written to. */
export class PositionBench {
  readonly pools: PoolOf[] = [];
  contracts: Address[] = [];
  accounts: Address[] = [];
  cursor: ChainCursor;
  source: Source;
  private mines = true;
  private anvil: AnvilNode;
  private owner: dev.DevClient;
  private database: TestDatabase;
  private client: Client;
  private writer: EventWriter;

  constructor(private readonly confirmations: number) {}

  async start(): Promise<this> {
    this.anvil = await startAnvil();
    const { url } = this.anvil;
    const { contracts, token } = await dev.deployContracts(url, { minimumDeposit: 1n });
    this.contracts = [contracts.cooperative, contracts.individual, contracts.lottery];
    for (let i = 0; i < ACCOUNTS; i += 1) {
      const client = await dev.connect(url, dev.devAccount(i));
      this.owner ??= client;
      this.accounts.push(client.account.address.toLowerCase() as Address);
      for (const contract of this.contracts) await dev.fund(client, token, contract, parseEther('1000000'));
    }
    this.database = await freshDatabase();
    this.client = await connect(this.database.url);
    const settings = { DATABASE_URL: this.database.url, RPC_URL: url };
    const named = Object.entries(contracts).map((pair) => pair.join('='));
    const environment = loadEnvironment({ ...settings, POOL_CONTRACTS: named.join(',') }, 'indexer');
    const lotteries = new Set<string>([contracts.lottery]);
    const { confirmations } = this;
    this.writer = new EventWriter(this.client, { confirmations, pendingTtl: 86_400, lotteries });
    this.source = new Source(new Rpc(rpcEndpoints(url)[0]), this.contracts, decoderFor(this.contracts));
    this.cursor = await openCursor(this.client, this.writer, this.source, environment);
    await this.client.query('INSERT INTO users VALUES (gen_random_uuid(), $1, now())', [
      `0x${'f'.repeat(40)}`,
    ]);
    return this;
  }

  async stop(): Promise<void> {
    await this.client?.end();
    await this.database?.drop();
    await this.anvil?.stop();
  }

  newPool(contract: Address): PoolOf {
    const pool = { id: randomUUID(), contract };
    this.pools.push(pool);
    return pool;
  }

  async addPool({ id, contract }: PoolOf): Promise<void> {
    await this.client.query(
      `INSERT INTO pools (id, type, owner_id, contract_address, created_at, last_update)
       SELECT $1, 'cooperative', id, $2, now(), now() FROM users`,
      [id, contract],
    );
  }

  rpc(method: string, ...params: unknown[]): Promise<unknown> {
    return dev.anvilRpc(this.owner, method, ...params);
  }

  /** Signed by the node, and mined before this answers. What the contract refuses is mined without effect. */
  async send(from: Address, to: Address, functionName: string, args: unknown[]): Promise<void> {
    const data = encodeFunctionData({ abi, functionName, args });
    const hash = await this.rpc('eth_sendTransaction', { from, to, data, gas: GAS });
    // The node answers before it mines.
    if (this.mines) await until(async () => (await this.rpc('eth_getTransactionReceipt', hash)) !== null);
  }

  /** What `work` sends is mined as one block, at one second. */
  async inOneBlock(work: () => Promise<unknown>): Promise<void> {
    await this.rpc('evm_setAutomine', (this.mines = false));
    await work();
    await this.rpc('anvil_mine', '0x1');
    await this.rpc('evm_setAutomine', (this.mines = true));
  }

  async view(to: Address, functionName: string, args: unknown[], block: number | 'latest'): Promise<bigint> {
    const data = encodeFunctionData({ abi, functionName, args });
    const at = block === 'latest' ? block : toHex(block);
    const answer = (await this.rpc('eth_call', { to, data }, at)) as Hex;
    // A rewind may go to a block before the contract, where nobody holds anything.
    return answer === '0x' ? 0n : BigInt(answer);
  }

  /** Of the last block, in seconds. */
  async time(): Promise<bigint> {
    return (await this.owner.getBlock()).timestamp;
  }

  async head(): Promise<number> {
    return Number(await this.rpc('eth_blockNumber'));
  }

  /** Reads and applies up to block `to`, as at the head of the chain or far below it. */
  async apply(to: number, nearHead: boolean): Promise<void> {
    const batch =
      to > this.cursor.number
        ? await this.source.readTo(this.cursor, { to, linked: nearHead })
        : { to: this.cursor, blocks: [], events: [] };
    const standing = { state: 'syncing', head: nearHead ? to : to + 2 * WINDOW_BLOCKS } as const;
    ({ cursor: this.cursor } = await this.writer.apply(this.cursor, batch, standing));
  }

  async rewind(number: number): Promise<void> {
    const block = (await this.source.block(number))!;
    ({ cursor: this.cursor } = await this.writer.rewind(this.cursor, block));
  }

  /** What the service answers for each account and pool. */
  async positions(pools: PoolOf[]): Promise<Record<string, Answer>> {
    const answers: Record<string, Answer> = {};
    for (const { id: pool } of pools)
      for (const caller of this.accounts) {
        const values = POOL_POSITION.parameters.map((name) => ({ pool, caller })[name]);
        const { rows } = await this.client.query<{ data: string | null }>(POOL_POSITION.text, values);
        if (rows[0].data) answers[`${pool} ${caller}`] = JSON.parse(rows[0].data) as Answer;
      }
    return answers;
  }

  /** What the contracts answer for each account and pool, at the last block in effect. */
  async contractsSay(pools: PoolOf[]): Promise<Record<string, Account>> {
    const block = Math.max(0, this.cursor.number - this.confirmations);
    const said: Record<string, Account> = {};
    for (const { id, contract } of pools)
      for (const account of this.accounts) {
        const args = [bytes16(id), account];
        const [balance, claimable, compounding] = await Promise.all(
          ['balanceOf', 'claimableOf', 'isCompounding'].map((name) => this.view(contract, name, args, block)),
        );
        said[`${id} ${account}`] = {
          balance: `${balance}`,
          claimable: `${claimable}`,
          compounding: compounding === 1n,
        };
      }
    return said;
  }

  /** Sums of what each account moved, as viem decodes the logs up to the last block in effect. */
  async moved(pools: PoolOf[]): Promise<Record<string, Pick<Answer, 'deposited' | 'withdrawn' | 'claimed'>>> {
    const toBlock = BigInt(this.cursor.number - this.confirmations);
    const logs = await this.owner.getLogs({ address: this.contracts, fromBlock: 0n, toBlock });
    const sums: Record<string, Record<string, bigint>> = {};
    for (const { eventName, args, address } of parseEventLogs({ abi: contractAbi, logs })) {
      if (eventName !== 'Deposited' && eventName !== 'Withdrawn' && eventName !== 'YieldClaimed') continue;
      const pool = pools.find(
        ({ id, contract }) => bytes16(id) === args.poolId && contract === address.toLowerCase(),
      );
      if (!pool) continue;
      const name = ({ Deposited: 'deposited', Withdrawn: 'withdrawn', YieldClaimed: 'claimed' } as const)[
        eventName
      ];
      const sum = (sums[`${pool.id} ${args.account.toLowerCase()}`] ??= {
        deposited: 0n,
        withdrawn: 0n,
        claimed: 0n,
      });
      sum[name] += args.amount;
    }
    return JSON.parse(
      JSON.stringify(sums, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)),
    ) as never;
  }
}

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, type QueryResultRow } from 'pg';
import { parseEther } from 'viem';
import { bytes16 } from '#values/bytes16';
import type { VerifyReport } from '#verify/checks/findings';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import {
  type Deployment,
  type DevClient,
  anvilRpc,
  connect,
  deployContracts,
  devAccount,
  execute,
  fund,
} from '#dev/deploy';
import { freePort } from '#dev/ports';
import { HttpClient } from '../fleet/http';
import { JWT_SECRET, METRICS_TOKEN, TEN, asSetting } from '../support/app';
import { Replica, Service, eventually } from '../support/processes/processes';

const VERIFY = join(__dirname, '../../dist/src/verify.js');
/** Longer than any step takes on a busy machine. */
const LIMIT_MS = 120_000;

export interface PaidPool {
  id: string;
  depositId: string;
}

/** One API, one indexer and a chain, with a database that others look after. */
export class SmallService {
  http: HttpClient;

  private constructor(
    readonly api: Replica,
    readonly indexer: Service,
    /** Of the database itself, past any pooler. */
    private readonly databaseUrl: string,
    private readonly chain: AnvilNode,
    private readonly deployment: Deployment,
    readonly payer: DevClient,
    private readonly settings: NodeJS.ProcessEnv,
  ) {
    this.http = new HttpClient(api.url);
  }

  /** @param urls by which API and indexer reach the database, where that is not the database's own URL */
  static async prepare(
    databaseUrl: string,
    { api = databaseUrl, indexer = databaseUrl } = {},
  ): Promise<SmallService> {
    const chain = await startAnvil();
    const deployment = await deployContracts(chain.url);
    const payer = await connect(chain.url, devAccount(1));
    await fund(payer, deployment.token, deployment.contracts.individual, parseEther('1000000'));
    const settings = {
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'info',
      DATABASE_POOL_SIZE: '6',
      JWT_SECRET,
      METRICS_TOKEN,
      SIWE_DOMAINS: 'app.example.org',
      RATE_LIMIT_GENERAL: '1000000000',
      RATE_LIMIT_AUTH: '1000000000',
      RPC_URL: chain.url,
      POOL_CONTRACTS: asSetting(deployment.contracts),
    };
    return new SmallService(
      new Replica(await freePort(), { ...settings, DATABASE_URL: api, CHAIN_ID: '1' }),
      new Service('indexer', { ...settings, DATABASE_URL: indexer, INDEXER_PORT: '0' }),
      databaseUrl,
      chain,
      deployment,
      payer,
      settings,
    );
  }

  async start(): Promise<void> {
    await Promise.all([this.api.start(), this.indexer.start()]);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await Promise.all([this.api.end(signal), this.indexer.end(signal)]);
  }

  async destroy(): Promise<void> {
    this.http.close();
    await this.stop('SIGKILL');
    await this.chain.stop();
  }

  async createPool(token: string, headers: Record<string, string> = {}): Promise<PaidPool> {
    const body = { type: 'individual', initialDeposit: TEN };
    const answer = await this.http.send('/pools', { method: 'POST', body, token, headers });
    if (answer.status !== 201) throw new Error(`no pool: ${answer.status} ${answer.text} ${answer.error}`);
    return answer.body.data as PaidPool;
  }

  /** Pays into the pool on the chain. Without a reference it is a payment that was not announced. */
  async pay({ id, depositId }: PaidPool, amount = TEN): Promise<void> {
    const args = [bytes16(id), bytes16(depositId), BigInt(amount)];
    await execute(this.payer, 'SavingsPool', this.deployment.contracts.individual, 'deposit', args);
  }

  /** Waits until the indexer has applied everything that is on the chain now. */
  async followsChain(): Promise<void> {
    await anvilRpc(this.payer, 'evm_mine');
    const block = `${await this.payer.getBlockNumber({ cacheTime: 0 })}`;
    const found = 'SELECT FROM chain_cursor WHERE block_number >= $1';
    await eventually(async () => (await this.sql(found, [block]).catch(() => [])).length === 1, LIMIT_MS);
  }

  async sql<Row extends QueryResultRow = QueryResultRow>(
    text: string,
    values: unknown[] = [],
    url = this.databaseUrl,
  ): Promise<Row[]> {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** `npm run verify`, with the chain. */
  async verify(
    url = this.databaseUrl,
  ): Promise<Pick<VerifyReport, 'differences' | 'complete' | 'notChecked'> & { code: number }> {
    const run = promisify(execFile)(process.execPath, [VERIFY, '--json'], {
      env: { PATH: process.env.PATH, ...this.settings, NODE_ENV: 'test', DATABASE_URL: url },
    });
    const { code = 0, stdout } = (await run.catch(
      (failure: { code: number; stdout: string }) => failure,
    )) as { code?: number; stdout: string };
    const { differences, complete, notChecked } = JSON.parse(
      stdout.slice(stdout.indexOf('{')),
    ) as VerifyReport;
    return { code, differences, complete, notChecked };
  }
}

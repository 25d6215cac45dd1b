import type { Page } from 'playwright-core';
import type { Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import pino from 'pino';
import { parseEther, toHex } from 'viem';
import { createIndexer } from '#indexer/indexer.setup';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import { type Dapp, serveDapp } from '#dev/dapp';
import {
  type DevClient,
  type Deployment,
  anvilRpc,
  connect,
  deployContracts,
  devKey,
  execute,
  read,
  seedDraws,
} from '#dev/deploy';
import { TestApp, asSetting, indexerSettings, until } from '../app';
import { verifyChain } from '../verify/verify-scene';
import type { TestWallet } from './test-wallet';
import { newWallet } from '../wallet';

/** The example page with service, indexer and chain, each of which a test may stop and start. */
export class PageBench {
  readonly app = new TestApp();
  anvil: AnvilNode;
  deployment: Deployment;
  /** Owns the contracts. */
  keeper: DevClient;
  dapp: Dapp;
  private indexer?: NestFastifyApplication;
  private modules: Type[] = [];
  private chain: Record<string, string>;

  /**
   * @param others contracts that are followed beside the reference ones, as POOL_CONTRACTS names them, and the modules that
   * read them
   */
  async start(
    overrides: NodeJS.ProcessEnv = {},
    others?: () => Promise<{ named: string; modules: Type[] }>,
  ): Promise<void> {
    this.anvil = await startAnvil();
    this.deployment = await deployContracts(this.anvil.url);
    await seedDraws(this.anvil.url, this.deployment);
    this.keeper = await connect(this.anvil.url);
    await this.mint(devKey().address, parseEther('1000'));
    const { named = [], modules = [] } = (await others?.()) ?? {};
    this.modules = modules;
    this.chain = {
      RPC_URL: this.anvil.url,
      POOL_CONTRACTS: [asSetting(this.deployment.contracts)].concat(named).join(),
    };
    await this.app.start({ ...this.chain, NODE_ENV: 'development', ...overrides });
    await this.app.listen();
    await this.startIndexer();
    this.dapp = await serveDapp({ api: `http://127.0.0.1:${this.app.port}`, rpcUrl: this.anvil.url });
  }

  async stop(): Promise<void> {
    await this.dapp?.stop();
    await this.stopIndexer();
    await this.app.stop();
    await this.anvil?.stop();
  }

  async startIndexer(): Promise<void> {
    const environment = indexerSettings(this.app.database.url, this.chain);
    this.indexer ??= await createIndexer(environment, pino({ level: 'silent' }), {
      modules: this.modules,
    });
  }

  async stopIndexer(): Promise<void> {
    await this.indexer?.close();
    this.indexer = undefined;
  }

  /** Resolves once the ledger has all blocks that the chain has now. */
  async atHead(): Promise<void> {
    const head = Number(await this.keeper.getBlockNumber({ cacheTime: 0 }));
    await until(async () => {
      const [cursor] = await this.app.sql<{ number: number }>(
        'SELECT block_number::int AS number FROM chain_cursor',
      );
      return cursor.number >= head;
    });
  }

  async mint(to: string, amount: bigint): Promise<void> {
    await execute(this.keeper, 'TestToken', this.deployment.token, 'mint', [to, amount]);
  }

  /** A wallet with tokens and ether, of a saver who is new here. */
  async richWallet(tokens: bigint, fields: Partial<TestWallet> = {}): Promise<TestWallet> {
    const account = newWallet();
    await this.mint(account.address, tokens);
    await anvilRpc(this.keeper, 'anvil_setBalance', account.address, toHex(parseEther('10')));
    return { account, chainId: this.anvil.chainId, rpcUrl: this.anvil.url, asked: [], ...fields };
  }

  /** What differs between database, events and chain, or could not be compared. */
  async differences(): Promise<unknown[]> {
    await this.atHead();
    const { listed, notChecked } = await verifyChain(this.app.database.url, this.anvil.url);
    return [...listed, ...notChecked];
  }

  tokensOf(address: string): Promise<bigint> {
    return read(this.keeper, 'TestToken', this.deployment.token, 'balanceOf', [address]);
  }
}

export const press = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('button', { name, exact: typeof name === 'string' }).click();

/** Signs in with the wallet that the page has. */
export async function enter(page: Page): Promise<void> {
  await press(page, 'Connect Test wallet');
  await page.getByRole('button', { name: 'New pool' }).waitFor();
}

/** Waits until the dialog says so. */
export const dialog = (page: Page, text: string | RegExp): Promise<void> =>
  page.getByRole('dialog').getByText(text).waitFor();

/** Waits in the same way, then closes the dialog. */
export async function done(page: Page, text: string | RegExp, button = 'Done'): Promise<void> {
  await dialog(page, text);
  await press(page, button);
}

import type { DynamicModule, LoggerService, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RewindModule } from '#indexer/indexer.module';
import { Rewind } from '#indexer/leading/rewind';
import { Replay } from '#indexer/replaying/replay';
import { endpointsOf } from '#indexer/verification';
import type { VerifyReport } from '#verify/checks/findings';
import { indexerSettings } from '../app';
import type { ChainBench } from '../chain/chain-bench';
import { urlAs } from '../database';
import { verify } from './verify-scene';

/** What the operators' commands do, on the database and the chain of a bench. */
export class Operators {
  /** @param modules the adapters beside the service's own */
  constructor(
    private readonly bench: ChainBench,
    private readonly modules: Type[] = [],
  ) {}

  private get url(): string {
    return urlAs(this.bench.database.url, 'operator');
  }
  private get settings(): ReturnType<typeof indexerSettings> {
    return indexerSettings(this.bench.database.url, { ...this.bench.settings(), RPC_TIMEOUT: '60' });
  }

  verify(repair = false): Promise<VerifyReport> {
    const endpoints = endpointsOf(this.settings);
    return verify({ databaseUrl: this.url, repair, limit: 10, endpoints });
  }

  /** What is found to be wrong, or could not be compared. */
  async verified(repair = false): Promise<unknown[]> {
    const { listed, notChecked } = await this.verify(repair);
    return [...listed, ...notChecked];
  }

  /** What a replay had to rebuild, and what it could not. */
  async replay(): Promise<{ corrected: string[]; refused: string[] }> {
    const { corrected, refused } = await new Replay(this.url, () => undefined).run();
    return {
      corrected: Object.entries(corrected).flatMap(([name, count]) => (count > 0 ? name : [])),
      refused,
    };
  }

  async rewind(to?: number, contract?: string): Promise<void> {
    await rewind(RewindModule.register(this.settings, this.modules), to, contract);
  }
}

/** @returns how many events were undone */
export async function rewind(
  module: DynamicModule,
  to: number | undefined,
  contract?: string,
  logger: LoggerService | false = false,
): Promise<number> {
  const context = await NestFactory.createApplicationContext(module, { logger, abortOnError: false });
  return context
    .get(Rewind)
    .to(to, contract)
    .finally(() => context.close());
}

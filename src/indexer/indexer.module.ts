import { DynamicModule, Module } from '@nestjs/common';
import { ConfigModule } from '../config/config.module';
import type { Environment } from '../config/environment';
import { Indexer } from './indexer.service';

@Module({})
export class IndexerModule {
  static register(environment: Environment): DynamicModule {
    return {
      module: IndexerModule,
      imports: [ConfigModule.register(environment)],
      providers: [Indexer],
    };
  }
}

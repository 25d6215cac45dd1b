import { DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { makeCounterProvider, makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import { PostgresSettings } from '#platform/postgres/postgres.settings';
import { Application, dataSourceOptions } from './data-source';
import { Database } from './database';
import { ExpiredRows } from './expired-rows';
import { Transactions } from './transactions';

const connections = makeGaugeProvider({
  name: 'database_connections',
  help: 'Connections to the database by state, and statements waiting for one',
  labelNames: ['state'],
});

const expired = makeCounterProvider({
  name: 'expired_rows_removed_total',
  help: 'Expired rows that were removed, by table',
  labelNames: ['table'],
});

const standbyReads = makeCounterProvider({
  name: 'standby_reads_total',
  help: 'Reads that DATABASE_READ_URL is for: by a standby, or by the primary because standbys were behind, failed or paused',
  labelNames: ['outcome'],
});

const slowReads = makeCounterProvider({
  name: 'slow_reads_total',
  help: 'Reads that were slow: cut off among others, known and sent apart at once, or refused there',
  labelNames: ['outcome'],
});

@Global()
@Module({})
export class DatabaseModule {
  static register(application: Application): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          inject: [PostgresSettings],
          useFactory: (environment: PostgresSettings) => ({
            ...dataSourceOptions(environment, application),
            // Finds entities of modules outside src.
            autoLoadEntities: true,
            retryAttempts: 10,
            retryDelay: 1000,
          }),
        }),
      ],
      providers: [Database, Transactions, ExpiredRows, connections, expired, standbyReads, slowReads],
      exports: [Database, Transactions, ExpiredRows, connections],
    };
  }
}

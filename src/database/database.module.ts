import { DynamicModule, Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import { Environment } from '../config/environment';
import { Application, dataSourceOptions } from './data-source';
import { Database } from './database';

const connections = makeGaugeProvider({
  name: 'database_connections',
  help: 'Connections to the database by state, and statements waiting for one',
  labelNames: ['state'],
});

@Global()
@Module({})
export class DatabaseModule {
  static register(application: Application): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [
        TypeOrmModule.forRootAsync({
          inject: [Environment],
          useFactory: (environment: Environment) => ({
            ...dataSourceOptions(environment, application),
            retryAttempts: 10,
            retryDelay: 1000,
          }),
        }),
      ],
      providers: [Database, connections],
      exports: [Database, connections],
    };
  }
}

import { DynamicModule, Module } from '@nestjs/common';
import { Environment } from './environment';

/** Makes the validated Environment injectable everywhere. */
@Module({})
export class ConfigModule {
  static register(environment: Environment): DynamicModule {
    return {
      module: ConfigModule,
      global: true,
      providers: [{ provide: Environment, useValue: environment }],
      exports: [Environment],
    };
  }
}

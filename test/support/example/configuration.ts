import { Injectable, Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { PoolsSettings } from '#features/pools/pools.settings';

@Injectable()
export class Greeter {
  constructor(
    private readonly config: ConfigService<{ greeting: { word: string } }, true>,
    private readonly pools: PoolsSettings,
  ) {}

  greet(): string {
    return `${this.config.get('greeting.word', { infer: true })}, from ${this.pools.MIN_DEPOSIT} on`;
  }
}

/** `@nestjs/config` beside the settings of the service. */
@Module({
  imports: [
    ConfigModule.forRoot({
      ignoreEnvFile: true,
      load: [() => ({ greeting: { word: 'hello' } })],
    }),
  ],
  providers: [Greeter],
})
export class ConfigurationModule {}

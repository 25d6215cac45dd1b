import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { SchemaWatch } from '#platform/migrating/schema-watch';
import { DatabaseHealthIndicator } from './database.health';
import { HealthController } from './health.controller';
import { HealthService } from './health.service';
import { ProcessHealthIndicator } from './process.health';
import { SchemaHealthIndicator } from './schema.health';

@Module({
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [
    HealthService,
    SchemaWatch,
    DatabaseHealthIndicator,
    ProcessHealthIndicator,
    SchemaHealthIndicator,
  ],
})
export class HealthModule {}

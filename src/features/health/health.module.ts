import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { DatabaseHealthIndicator } from './database.health';
import { HealthController } from './health.controller';
import { HealthService } from './health.service';
import { ProcessHealthIndicator } from './process.health';

@Module({
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [HealthController],
  providers: [HealthService, DatabaseHealthIndicator, ProcessHealthIndicator],
})
export class HealthModule {}

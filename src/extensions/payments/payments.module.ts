import { Module } from '@nestjs/common';
import { CallsController } from './calls.controller';
import { CallsService } from './calls.service';
import { DrawCallsController } from './draw-calls.controller';
import { DrawCallsService } from './draw-calls.service';
import { Refusals } from './refusals';
import { StrayDepositsController } from './stray-deposits.controller';

@Module({
  controllers: [CallsController, DrawCallsController, StrayDepositsController],
  providers: [CallsService, DrawCallsService, Refusals],
})
export class PaymentsModule {}

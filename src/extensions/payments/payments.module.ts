import { Module } from '@nestjs/common';
import { CallsController, DrawCallsController } from './calls.controller';
import { CallsService } from './calls.service';
import { Refusals } from './refusals';
import { StrayDepositsController } from './stray-deposits.controller';

@Module({
  controllers: [CallsController, DrawCallsController, StrayDepositsController],
  providers: [CallsService, Refusals],
})
export class PaymentsModule {}

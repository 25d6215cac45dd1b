import { Module } from '@nestjs/common';
import { CallsController, DrawCallsController } from './calls.controller';
import { Refusals } from './refusals';
import { StrayDepositsController } from './stray-deposits.controller';

@Module({
  controllers: [CallsController, DrawCallsController, StrayDepositsController],
  providers: [Refusals],
})
export class PaymentsModule {}

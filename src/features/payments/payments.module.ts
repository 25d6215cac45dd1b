import { Module } from '@nestjs/common';
import { CallsController } from './calls.controller';
import { CallsService } from './calls.service';
import { DrawCallsController } from './draw-calls.controller';
import { DrawCallsService } from './draw-calls.service';

@Module({ controllers: [CallsController, DrawCallsController], providers: [CallsService, DrawCallsService] })
export class PaymentsModule {}

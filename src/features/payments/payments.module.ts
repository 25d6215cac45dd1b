import { Module } from '@nestjs/common';
import { CallsController } from './calls.controller';
import { CallsService } from './calls.service';
import { ConfigController } from './config.controller';
import { ConfigService } from './config.service';

@Module({ controllers: [CallsController, ConfigController], providers: [CallsService, ConfigService] })
export class PaymentsModule {}

import { Module } from '@nestjs/common';
import { ConfigController } from './config.controller';

/** What clients need to know. Not the service's own settings, which are in `settings/`. */
@Module({ controllers: [ConfigController] })
export class ClientConfigModule {}

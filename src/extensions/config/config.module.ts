import { Module } from '@nestjs/common';
import { ConfigController } from './config.controller';
import { ClientConfigService } from './config.service';

/** What clients need to know. Not the service's own settings, which are in `settings/`. */
@Module({ controllers: [ConfigController], providers: [ClientConfigService] })
export class ClientConfigModule {}

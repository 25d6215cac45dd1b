import { Module } from '@nestjs/common';
import { expiring } from '#platform/database/expired-rows';
import { REMOVE_OLD_RECORDS } from '#platform/operating/records.sql';
import { ChainModule } from '#ledger/chain/chain.module';
import { AccessModule } from '#features/access/access.module';
import { LotteryModule } from '#features/lottery/lottery.module';
import { PoolsModule } from '#features/pools/pools.module';
import { PositionsModule } from '#features/positions/positions.module';
import { WebhooksModule } from '#features/webhooks/webhooks.module';
import { Deletions } from './deletions';
import { PeopleController } from './people.controller';
import { PeopleService } from './people.service';

@Module({
  imports: [AccessModule, ChainModule, LotteryModule, PoolsModule, PositionsModule, WebhooksModule],
  controllers: [PeopleController],
  providers: [Deletions, PeopleService, expiring('operator_records', REMOVE_OLD_RECORDS)],
})
export class PeopleModule {}

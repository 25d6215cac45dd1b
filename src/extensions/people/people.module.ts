import { Module } from '@nestjs/common';
import { makeGaugeProvider } from '@willsoto/nestjs-prometheus';
import { expiring } from '#platform/database/expired-rows';
import { REMOVE_OLD_RECORDS } from '#platform/operating/records.sql';
import { ChainModule } from '#ledger/chain/chain.module';
import { AccessModule } from '#features/access/access.module';
import { LotteryModule } from '#features/lottery/lottery.module';
import { PoolsModule } from '#features/pools/pools.module';
import { PositionsModule } from '#extensions/positions/positions.module';
import { WebhooksModule } from '#extensions/webhooks/webhooks.module';
import { GO_ON_DELETING, STEP } from './deletions';
import { Unfinished } from './unfinished';
import { PeopleController } from './people.controller';

@Module({
  imports: [AccessModule, ChainModule, LotteryModule, PoolsModule, PositionsModule, WebhooksModule],
  controllers: [PeopleController],
  providers: [
    Unfinished,
    expiring('operator_records', REMOVE_OLD_RECORDS),
    expiring('account_deletions', GO_ON_DELETING, STEP),
    makeGaugeProvider({
      name: 'account_deletion_age_seconds',
      help: 'Age of the oldest deletion of an account that is not complete, 0 if there is none',
    }),
    makeGaugeProvider({
      name: 'operator_record_open_seconds',
      help: "Age of the oldest record of an operator's command that has no end, 0 if there is none",
    }),
  ],
})
export class PeopleModule {}

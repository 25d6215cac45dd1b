import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { LotteryDraw } from './lottery-draw.entity';
import { LotteryController } from './lottery.controller';
import { LotteryService } from './lottery.service';
import { TicketsController } from './tickets.controller';

@Module({
  imports: [TypeOrmModule.forFeature([LotteryDraw])],
  controllers: [LotteryController, TicketsController],
  providers: [LotteryService],
  exports: [TypeOrmModule],
})
export class LotteryModule {}

import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { LotteryDraw } from './lottery-draw.entity';
import { LotteryController, TicketsController } from './lottery.controller';

@Module({
  imports: [TypeOrmModule.forFeature([LotteryDraw])],
  controllers: [LotteryController, TicketsController],
  exports: [TypeOrmModule],
})
export class LotteryModule {}

import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { LotteryDraw } from './lottery-draw.entity';
import { LotteryController, TicketsController } from './lottery.controller';
import { LotteryService } from './lottery.service';

@Module({
  imports: [TypeOrmModule.forFeature([LotteryDraw])],
  controllers: [LotteryController, TicketsController],
  providers: [LotteryService],
  exports: [TypeOrmModule],
})
export class LotteryModule {}

import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { LotteryDraw } from './lottery-draw.entity';
import { LotteryController } from './lottery.controller';
import { LotteryService } from './lottery.service';

@Module({
  imports: [TypeOrmModule.forFeature([LotteryDraw])],
  controllers: [LotteryController],
  providers: [LotteryService],
  exports: [LotteryService, TypeOrmModule],
})
export class LotteryModule {}

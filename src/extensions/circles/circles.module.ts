import { Module } from '@nestjs/common';
import { CircleCallsController } from './circle-calls.controller';
import { CircleCallsService } from './circle-calls.service';
import { CirclesController } from './circles.controller';

@Module({
  controllers: [CirclesController, CircleCallsController],
  providers: [CircleCallsService],
})
export class CirclesModule {}

import { Module } from '@nestjs/common';
import { CircleCallsController } from './circle-calls.controller';
import { CircleCallsService } from './circle-calls.service';
import { CirclesController } from './circles.controller';
import { CirclesService } from './circles.service';

@Module({
  controllers: [CirclesController, CircleCallsController],
  providers: [CirclesService, CircleCallsService],
})
export class CirclesModule {}

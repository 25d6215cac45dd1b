import { Module } from '@nestjs/common';
import { CircleCallsController, CirclesController } from './circles.controller';
import { CircleCallsService } from './circles.service';

@Module({ controllers: [CirclesController, CircleCallsController], providers: [CircleCallsService] })
export class CirclesModule {}

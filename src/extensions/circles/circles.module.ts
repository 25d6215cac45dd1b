import { Module } from '@nestjs/common';
import { CircleCallsController, CirclesController } from './circles.controller';

@Module({ controllers: [CirclesController, CircleCallsController] })
export class CirclesModule {}

import { Controller, Injectable, Module, Post } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Cron, CronExpression, Interval, ScheduleModule } from '@nestjs/schedule';
import { Public } from '#features/access/auth.guard';

export const INTERVAL_MS = 20;

@Injectable()
export class Rounds {
  readonly heard: unknown[] = [];
  seconds = 0;
  intervals = 0;

  @OnEvent('example.rang')
  onRing(payload: unknown): void {
    this.heard.push(payload);
  }

  @Cron(CronExpression.EVERY_SECOND)
  everySecond(): void {
    this.seconds++;
  }

  @Interval(INTERVAL_MS)
  often(): void {
    this.intervals++;
  }
}

@Controller('example/bell')
@Public()
class BellController {
  constructor(private readonly events: EventEmitter2) {}

  @Post()
  ring(): boolean {
    return this.events.emit('example.rang', { times: 1 });
  }
}

/** `@nestjs/event-emitter` within the process, and `@nestjs/schedule`: each replica runs such jobs by itself. */
@Module({
  imports: [EventEmitterModule.forRoot(), ScheduleModule.forRoot()],
  controllers: [BellController],
  providers: [Rounds],
})
export class BackgroundModule {}

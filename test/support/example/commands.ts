import { Body, Controller, Get, Injectable, Module, Param, Post } from '@nestjs/common';
import {
  Command,
  CommandBus,
  CommandHandler,
  CqrsModule,
  EventBus,
  EventsHandler,
  type ICommandHandler,
  type IEventHandler,
  type IQueryHandler,
  Query,
  QueryBus,
  QueryHandler,
} from '@nestjs/cqrs';
import { IsString } from 'class-validator';
import { ApiError } from '#platform/errors/errors';
import { Public } from '#features/access/auth.guard';

class WishRequest {
  @IsString() text: string;
}

class MakeWish extends Command<{ id: number }> {
  constructor(readonly text: string) {
    super();
  }
}

class FindWish extends Query<{ text: string }> {
  constructor(readonly id: number) {
    super();
  }
}

class WishMade {
  constructor(readonly text: string) {}
}

@Injectable()
export class Wishes {
  readonly texts: string[] = [];
  readonly told: string[] = [];
}

@CommandHandler(MakeWish)
class MakeWishHandler implements ICommandHandler<MakeWish> {
  constructor(
    private readonly wishes: Wishes,
    private readonly events: EventBus,
  ) {}

  execute({ text }: MakeWish): Promise<{ id: number }> {
    const id = this.wishes.texts.push(text) - 1;
    this.events.publish(new WishMade(text));
    return Promise.resolve({ id });
  }
}

@QueryHandler(FindWish)
class FindWishHandler implements IQueryHandler<FindWish> {
  constructor(private readonly wishes: Wishes) {}

  execute({ id }: FindWish): Promise<{ text: string }> {
    const text = this.wishes.texts[id];
    if (text === undefined) throw new ApiError(404, 'No such wish');
    return Promise.resolve({ text });
  }
}

@EventsHandler(WishMade)
class WishMadeHandler implements IEventHandler<WishMade> {
  constructor(private readonly wishes: Wishes) {}

  handle({ text }: WishMade): void {
    this.wishes.told.push(text);
  }
}

@Controller('example/wishes')
@Public()
class WishesController {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  @Post()
  make(@Body() { text }: WishRequest): Promise<{ id: number }> {
    return this.commands.execute(new MakeWish(text));
  }

  @Get(':id')
  find(@Param('id') id: number): Promise<{ text: string }> {
    return this.queries.execute(new FindWish(id));
  }
}

/** `@nestjs/cqrs`: a command, a query and an event, each with its handler. */
@Module({
  imports: [CqrsModule.forRoot()],
  controllers: [WishesController],
  providers: [Wishes, MakeWishHandler, FindWishHandler, WishMadeHandler],
})
export class CommandsModule {}

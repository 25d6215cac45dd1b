import { Controller, Get, Module, Param, Post, UseGuards } from '@nestjs/common';
import { SkipThrottle, Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { Public } from '#features/access/auth.guard';

/** Handlers that two controllers share. */
class Inherited {
  @Get('inherited')
  inherited(): string {
    return 'inherited';
  }
}

@Controller('example/limits')
@Public()
@Throttle({ general: { limit: 4, ttl: 120_000 } })
class LimitsController extends Inherited {
  @Get('controller')
  controller(): string {
    return 'as the controller says';
  }

  @Get(['handler', 'handler-too'])
  @Throttle({ general: { limit: 2, ttl: 30_000 } })
  handler(): string {
    return 'as the handler says';
  }

  @Get('things/:id')
  @Throttle({ default: { limit: 3, ttl: 30_000 } })
  thing(@Param('id') id: string): string {
    return id;
  }

  @Post('body')
  @Throttle({ general: { limit: 1, ttl: 30_000 } })
  body(): string {
    return 'read';
  }

  @Get('skipped')
  @SkipThrottle()
  skipped(): string {
    return 'never limited';
  }

  @Get('sign-in')
  @SkipThrottle({ general: true })
  @Throttle({ auth: {} })
  signIn(): string {
    return 'counts with sign-in';
  }
}

@Controller(['example/unlimited', 'example/free'])
@Public()
@SkipThrottle()
class UnlimitedController extends Inherited {
  @Get()
  open(): string {
    return 'never limited';
  }

  @Get('limited')
  @SkipThrottle({ default: false })
  limited(): string {
    return 'limited again';
  }

  @Get('guarded')
  @UseGuards(ThrottlerGuard)
  guarded(): string {
    return 'counted by the guard';
  }
}

@Controller('example/shared')
@Public()
class SharedController {
  @Get()
  shared(): string {
    return 'counts with all others';
  }
}

@Module({
  imports: [ThrottlerModule.forRoot([{ name: 'guard', limit: 2, ttl: 30_000 }])],
  controllers: [LimitsController, UnlimitedController, SharedController],
})
export class LimitsModule {}

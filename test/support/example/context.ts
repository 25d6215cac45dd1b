import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { ClsModule, ClsService, type ClsStore } from 'nestjs-cls';
import type { IncomingMessage } from 'node:http';
import { Public } from '#features/access/auth.guard';

interface Context extends ClsStore {
  tenant?: string;
}

/** Knows whom it works for without being told. */
@Injectable()
class TenantService {
  constructor(private readonly context: ClsService<Context>) {}

  async current(): Promise<{ tenant?: string; isActive: boolean }> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return { tenant: this.context.get('tenant'), isActive: this.context.isActive() };
  }
}

@Controller('example/context')
@Public()
class ContextController {
  constructor(private readonly tenants: TenantService) {}

  @Get()
  current(): Promise<unknown> {
    return this.tenants.current();
  }
}

/** nestjs-cls, as its documentation mounts it. */
@Module({
  imports: [
    ClsModule.forRoot({
      global: true,
      middleware: {
        mount: true,
        setup: (context: ClsService<Context>, { headers }: IncomingMessage) =>
          context.set('tenant', headers['x-tenant'] as string | undefined),
      },
    }),
  ],
  controllers: [ContextController],
  providers: [TenantService],
})
export class ContextModule {}

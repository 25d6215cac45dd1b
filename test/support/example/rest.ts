import {
  type CanActivate,
  Controller,
  Get,
  Injectable,
  Logger,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  Post,
  Req,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import type { FastifyRequest } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import '@fastify/multipart';
import { Public } from '#features/access/auth.guard';

type Next = (error?: unknown) => void;

@Injectable()
export class NobodyGuard implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

@Controller('example/rest')
@Public()
export class RestController {
  private readonly logger = new Logger('Example');

  @Get('middleware')
  middleware(@Req() { raw }: FastifyRequest): unknown {
    return { passed: (raw as IncomingMessage & { passed?: boolean }).passed };
  }

  @Get('middleware/:what')
  unreachable(): string {
    return 'reached';
  }

  @Get('guarded')
  @UseGuards(NobodyGuard)
  guarded(): string {
    return 'in';
  }

  @Post('log')
  async log(@Req() { headers }: FastifyRequest): Promise<void> {
    await Promise.resolve();
    this.logger.warn('careful', headers);
    Logger.log('static', 'Elsewhere');
    await new Promise((resolve) => setImmediate(resolve));
    this.logger.log('later');
  }

  @Post('upload')
  async upload(@Req() request: FastifyRequest): Promise<unknown> {
    const file = await request.file();
    const content = await file?.toBuffer();
    return { name: file?.filename, size: content?.length };
  }
}

/** Its handler belongs to two controllers, of which one is public. */
class Shared {
  @Get()
  greet(): string {
    return 'hello';
  }
}

@Controller('example/open')
@Public()
export class OpenController extends Shared {}

@Controller('example/closed')
export class ClosedController extends Shared {}

@WebSocketGateway({ path: '/example/socket' })
export class EchoGateway {
  @SubscribeMessage('echo')
  echo(_client: unknown, data: unknown): { event: string; data: unknown } {
    return { event: 'echo', data };
  }
}

@Module({
  controllers: [RestController, OpenController, ClosedController],
  providers: [EchoGateway, NobodyGuard],
})
export class RestModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply((request: IncomingMessage & { passed?: boolean }, _response: ServerResponse, next: Next) => {
        request.passed = true;
        next();
      })
      .forRoutes('example/rest/middleware');
    consumer
      .apply(
        (request: FastifyRequest['raw'] & { originalUrl: string }, response: ServerResponse, next: Next) => {
          if (request.originalUrl.endsWith('refused')) throw new UnauthorizedException('Not by this way');
          if (request.originalUrl.endsWith('answered')) response.writeHead(202).end('answered');
          else next(new Error('relation "users" at 10.0.0.7'));
        },
      )
      .forRoutes('example/rest/middleware/*path');
  }
}

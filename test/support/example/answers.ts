import {
  type CallHandler,
  ConflictException,
  Controller,
  Delete,
  type ExecutionContext,
  Get,
  Header,
  HttpCode,
  Injectable,
  type MessageEvent,
  type NestInterceptor,
  Post,
  Query,
  Redirect,
  Res,
  Sse,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiProperty } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { type Observable, finalize, interval, map, of, throwError } from 'rxjs';
import { CursorCodec } from '#platform/answers/cursor';
import { JsonText } from '#platform/answers/json-text';
import { Page, TopLevelCopy, PageQuery, pageWithCursor } from '#platform/answers/pagination';
import { RawResponse } from '#platform/answers/raw-response';
import { ApiData, ApiEndpoint } from '#platform/openapi/api-docs';
import { Public } from '#features/access/auth.guard';

export class Saver {
  @ApiProperty({ example: 'Ada' }) name: string;
  @ApiProperty({ example: '1' }) amount: string;
}

const SAVERS = '[{"name":"Ada","amount":"123456789012345678901234567890"}]';

/** Everything that a handler may answer with. */
@Controller('example/answers')
@Public()
export class AnswersController {
  /** Clients that listen to the events at present. */
  static listeners = 0;

  @Get('file')
  file(): StreamableFile {
    return new StreamableFile(Buffer.from('a,b\n1,2\n'), { type: 'text/csv' });
  }

  @Get('stream')
  @Header('content-type', 'text/plain')
  stream(): Readable {
    return Readable.from(['one ', 'two']);
  }

  @Get('web-stream')
  webStream(): ReadableStream {
    return Readable.toWeb(Readable.from([Buffer.from('from the web')])) as ReadableStream;
  }

  @Get('buffer')
  buffer(): Buffer {
    return Buffer.from([1, 2, 3]);
  }

  @Get('csv')
  @Header('content-type', 'text/csv; charset=utf-8')
  csv(): string {
    return 'name,amount\nAda,10\n';
  }

  @Get('text')
  text(): string {
    return 'text';
  }

  @Get('observable')
  observable(): Observable<Saver> {
    return of({ name: 'Ada', amount: '1' });
  }

  @Delete('nothing')
  @HttpCode(204)
  nothing(): { ignored: boolean } {
    return { ignored: true };
  }

  @Get('documented')
  @ApiOkResponse({ type: Saver })
  documented(@Query('with') more?: string): object {
    return more ? { name: 'Ada', [more]: '1' } : { name: 'Ada', amount: '1' };
  }

  @Delete('documented')
  @HttpCode(204)
  @ApiNoContentResponse({ description: 'Done; no body' })
  @ApiEndpoint({ summary: 'Forget a saver', errors: [404] })
  forget(): void {}

  @Post('documented')
  @ApiData(Saver)
  @HttpCode(202)
  accepted(): Saver {
    return { name: 'Ada', amount: '1' };
  }

  @Sse('events')
  events(): Observable<MessageEvent> {
    AnswersController.listeners++;
    return interval(20).pipe(
      map((n) => ({ id: String(n), data: { n } })),
      finalize(() => AnswersController.listeners--),
    );
  }

  /** Refused before the first event. */
  @Sse('no-events')
  noEvents(): Observable<MessageEvent> {
    return throwError(() => new ConflictException('No events'));
  }

  @Get('moved')
  @Redirect('/elsewhere', 301)
  moved(): void {}

  @Get('own')
  async own(@Res() reply: FastifyReply): Promise<void> {
    await reply.code(202).type('text/plain').send('sent by hand');
  }

  @Get('passthrough')
  passthrough(@Res({ passthrough: true }) reply: FastifyReply): Saver {
    void reply.code(203).header('x-example', 'yes');
    return { name: 'Ada', amount: '1' };
  }

  @Get('failed')
  failed(@Res({ passthrough: true }) reply: FastifyReply): { reason: string } {
    void reply.code(409);
    return { reason: 'of its own' };
  }

  @Get('raw')
  @RawResponse()
  raw(): Saver {
    return { name: 'Ada', amount: '1' };
  }

  @Post('raw-json')
  @RawResponse()
  rawJson(): JsonText<Saver[]> {
    return new JsonText<Saver[]>(SAVERS);
  }
}

/** Adds a field to what it is given, which therefore has to be plain data. */
@Injectable()
export class Stamp implements NestInterceptor {
  static seen: unknown;

  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      map((data: unknown) => {
        Stamp.seen = data;
        return Array.isArray(data)
          ? data.map((item: object) => ({ ...item, stamped: true }))
          : { ...(data as object), stamped: true };
      }),
    );
  }
}

/** Payloads of the types that the service's own handlers use, behind an interceptor. */
@Controller('example/intercepted')
@Public()
export class InterceptedController {
  @Get('text')
  @UseInterceptors(Stamp)
  text(): JsonText<Saver> {
    return new JsonText<Saver>('{"name":"Ada","amount":"1"}');
  }

  @Get('page')
  @UseInterceptors(Stamp)
  page(@Query() query: PageQuery): Page<Saver> {
    return new Page(new JsonText<Saver[]>(SAVERS), 21, query);
  }

  @Get('after')
  @UseInterceptors(Stamp)
  after(): Page<Saver> {
    return pageWithCursor({ data: SAVERS, next: '7' }, { limit: 20 }, new CursorCodec('savers', /^\d$/));
  }

  @Get('top-level-copy')
  @UseInterceptors(Stamp)
  topLevelCopy(): TopLevelCopy<Saver> {
    return new TopLevelCopy({ name: 'Ada', amount: '1' });
  }
}

import {
  type ArgumentsHost,
  BadRequestException,
  Catch,
  ConflictException,
  Controller,
  type ExceptionFilter,
  ForbiddenException,
  Get,
  GoneException,
  HttpException,
  NotFoundException,
  Param,
  ParseIntPipe,
  ParseUUIDPipe,
  UnauthorizedException,
  UnprocessableEntityException,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { Public } from '#features/access/auth.guard';

export const SECRET = 'relation "users" at 10.0.0.7';

class OutOfStock extends Error {}

@Catch(OutOfStock)
class OutOfStockFilter implements ExceptionFilter {
  catch(_: OutOfStock, host: ArgumentsHost): void {
    void host.switchToHttp().getResponse<FastifyReply>().code(410).send({ stock: 0 });
  }
}

@Catch(GoneException)
class StockFilter extends BaseExceptionFilter {}

class Never {
  canActivate(): boolean {
    return false;
  }
}

export const THROWN: Record<string, () => unknown> = {
  conflict: () => new ConflictException('There is one already'),
  cause: () => new ConflictException('With a reason', { cause: new Error(SECRET) }),
  payment: () => new HttpException('Pay first', 402),
  gone: () => new GoneException('No more'),
  unprocessable: () => new UnprocessableEntityException('Makes no sense'),
  bad: () => new BadRequestException('Not so'),
  list: () => new BadRequestException(['a is wrong', 'b is wrong']),
  object: () => new HttpException({ message: 'Full', code: 'POOL_FULL' }, 409),
  'not-found': () => new NotFoundException('No such saver'),
  'bare-not-found': () => new NotFoundException(),
  'bare-unauthorized': () => new UnauthorizedException(),
  'bare-forbidden': () => new ForbiddenException(),
  unexpected: () => new Error(SECRET),
  upstream: () => Object.assign(new Error(SECRET), { statusCode: 404 }),
  text: () => SECRET,
  // Text of a database error in an error that is none.
  'looks-like-outage': () => new ConflictException('Connection terminated unexpectedly'),
};

/** Everything that a handler, a pipe or a guard may refuse with. */
@Controller('example/errors')
@Public()
export class ErrorsController {
  @Get('thrown/:name')
  thrown(@Param('name') name: string): never {
    throw THROWN[name]();
  }

  @Get('int/:id')
  int(@Param('id', ParseIntPipe) id: number): { id: number } {
    return { id };
  }

  @Get('uuid/:id')
  uuid(@Param('id', ParseUUIDPipe) id: string): { id: string } {
    return { id };
  }

  @Get('guarded')
  @UseGuards(Never)
  guarded(): void {}

  @Get('filtered')
  @UseFilters(OutOfStockFilter)
  filtered(): never {
    throw new OutOfStock(SECRET);
  }

  @Get('filtered-by-nest')
  @UseFilters(StockFilter)
  filteredByNest(): never {
    throw new GoneException('No more');
  }
}

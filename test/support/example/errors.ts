import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  GoneException,
  Param,
  ParseIntPipe,
  ParseUUIDPipe,
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

/** Everything that a handler, a pipe or a guard may refuse with. */
@Controller('example/errors')
@Public()
export class ErrorsController {
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

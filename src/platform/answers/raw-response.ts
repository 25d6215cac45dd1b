import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  UseGuards,
  applyDecorators,
} from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';

@Injectable()
class RawResponseGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (context.getType() === 'http')
      context.switchToHttp().getResponse<FastifyReply>().envelope = { raw: true };
    return true;
  }
}

/** Extension of an operation without the envelope. `completeDocument` takes it out. */
export const RAW = 'x-raw';

/**
 * Sends the return values of a handler, or of all handlers of a controller, without the envelope. It is a guard
 * because NestJS runs guards of methods and of classes before the handler, and only where they are used.
 */
export const RawResponse = (): MethodDecorator & ClassDecorator =>
  applyDecorators(UseGuards(RawResponseGuard), ApiExtension(RAW, true));

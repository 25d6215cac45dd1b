import { type CanActivate, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

@Injectable()
class RawResponseGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (context.getType() === 'http')
      context.switchToHttp().getResponse<FastifyReply>().envelope = { raw: true };
    return true;
  }
}

/**
 * Sends the return values of a handler, or of all handlers of a controller, without the envelope. It is a guard
 * because NestJS runs guards of methods and of classes before the handler, and only where they are used.
 */
export const RawResponse = (): MethodDecorator & ClassDecorator => UseGuards(RawResponseGuard);

import type { ArgumentsHost } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendError } from '#platform/errors/error.filter';

/**
 * Gives the service's error form to filters of modules that extend BaseExceptionFilter and call `super.catch`. It makes
 * a body of its own and replies by the adapter, as filters do that answer as they like. So the adapter cannot tell
 * them apart, and sees no exception: only the method itself can be replaced.
 * @param isOurs other applications of the process keep NestJS's form
 */
export function giveErrorForm(isOurs: (adapter: unknown) => boolean): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method
  const ordinary = BaseExceptionFilter.prototype.catch;
  class WithErrorForm extends BaseExceptionFilter {
    override catch(exception: unknown, host: ArgumentsHost): void {
      if (!isOurs(this.applicationRef ?? this.httpAdapterHost?.httpAdapter))
        return ordinary.call(this, exception, host);
      const http = host.switchToHttp();
      sendError(exception, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
    }
  }
  // eslint-disable-next-line @typescript-eslint/unbound-method
  BaseExceptionFilter.prototype.catch = WithErrorForm.prototype.catch;
}

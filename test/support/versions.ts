import { Injectable, Module, type Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import type * as ledger from '#ledger/outbox/ledger-event';
import type { LedgerEvent, Topic } from '#ledger/outbox/ledger-event';
import { OnLedgerEvent } from '#ledger/outbox/on-ledger-event';
import type * as payloads from '#ledger/outbox/payloads';
import { createApp } from '#api/app.setup';
import { JWT_SECRET, settings } from './app';

/** A topic that only the newer version knows. */
export const NEW_TOPIC = 'goal.reached';

/** A module whose consumer writes down the events that it is given. */
export function goalsModule(topics: string[], given: LedgerEvent[]): Type {
  @Injectable()
  class Goals {
    @OnLedgerEvent(topics as Topic[], { consumer: 'test.goals' })
    onEvent(event: LedgerEvent): void {
      given.push(event);
    }
  }

  @Module({ providers: [Goals] })
  class GoalsModule {}
  return GoalsModule;
}

/** What `newer` calls in modules of its own. */
export function startNewer(
  secret: string,
  url: string,
  given: LedgerEvent[],
  logger: Logger,
): Promise<NestFastifyApplication> {
  return createApp(settings(url, { WEBHOOK_ALLOW_PRIVATE: 'true', JWT_SECRET: secret }), logger, {
    modules: [goalsModule(['deposit.confirmed', NEW_TOPIC], given)],
  });
}

/** An API of the next version, which has one topic more, on the database of the present one. */
export async function newer(
  url: string,
  given: LedgerEvent[],
  logger: Logger,
): Promise<NestFastifyApplication> {
  let app: NestFastifyApplication;
  await jest.isolateModulesAsync(async () => {
    /* eslint-disable @typescript-eslint/no-require-imports */
    const { AUDIENCES, TOPICS } = require('#ledger/outbox/ledger-event') as typeof ledger;
    Object.assign(AUDIENCES, { [NEW_TOPIC]: 'pool' });
    TOPICS.push(NEW_TOPIC as Topic);
    const { PAYLOADS } = require('#ledger/outbox/payloads') as typeof payloads;
    Object.assign(PAYLOADS, { [NEW_TOPIC]: PAYLOADS['deposit.confirmed'] });
    // Decorators read the topics when their files are loaded.
    const next = require('./versions') as { startNewer: typeof startNewer };
    app = await next.startNewer(JWT_SECRET, url, given, logger);
  });
  return app!;
}

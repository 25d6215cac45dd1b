import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiExtension, ApiExtraModels } from '@nestjs/swagger';
import { type Page, PageQuery } from '#platform/answers/pagination';
import { ApiData, DOCUMENT_PARTS } from '#platform/openapi/api-docs';
import { EVENT_MODELS } from '#ledger/outbox/event-models';
import { type AuthenticatedUser, CurrentUser, type Session } from '#features/access/current-user';
import { WEBHOOKS_DOCUMENT } from './webhooks-document';
import {
  ChallengeAnswer,
  CreateWebhookRequest,
  CreatedWebhook,
  DeletedWebhook,
  DeliveryItem,
  RotatedSecret,
  UpdateWebhookRequest,
  WebhookChallenge,
  WebhookItem,
  WebhookNotice,
} from './webhooks.dto';
import { WebhooksService } from './webhooks.service';

@Controller('webhooks')
@ApiExtraModels(...EVENT_MODELS, WebhookNotice, WebhookChallenge, ChallengeAnswer)
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Post()
  @ApiData(CreatedWebhook, {
    summary: 'Have events sent to a server',
    description: `From now on, events that the caller may follow are sent to \`url\` by POST, each as JSON: of his pools, his own payments and tickets, and of all draws.

Each is signed twice, so libraries for either verify it unchanged. Standard Webhooks: \`Webhook-Id\`, \`Webhook-Timestamp\` (Unix time) and \`Webhook-Signature: v1,<base64>\`, which is HMAC-SHA256 over id, time and the body as received, joined by dots; the key is what follows \`whsec_\` in \`secret\`, decoded from base64. Stripe's form: \`Savings-Signature: t=<Unix time>,v1=<hex>\`, which is HMAC-SHA256 over time and body, joined by a dot; the key is all of \`secret\`. While a secret rotates there are two \`v1\`, and one of them has to fit. Compare in constant time, and refuse times that are more than five minutes old. \`Webhook-Id\` is the delivery: the same one may come twice, and events out of order; their \`id\` gives the order.

First comes a challenge, \`{"id","topic":"challenge","occurredAt","challenge"}\`, signed like the rest: the server has to answer it with 2xx and \`{"challenge":"…"}\`, or the bare text. Only then the webhook is ACTIVE and gets what happens from then on. It is sent three times in about six minutes, and again by \`POST /webhooks/:id/challenge\`.

An answer from 200 to 299 within 8 seconds counts as received. Everything else, redirects too, is tried again with growing waits; \`Retry-After\` of 429 and 503 is kept. A server that fails five times in a row is PAUSED: it gets one request at a time, at growing waits, until it answers; one that fails for three days, or answers 410, is DISABLED. \`webhook.paused\`, \`webhook.resumed\` and \`webhook.disabled\` tell the owner. URLs have to be https at port 443 in production, and lead to the public internet; they are kept in normal form, without what follows \`#\`. A user has at most 10 webhooks.`,
    status: 201,
    errors: [400, 'invalid_json', 401, 409, 413, 415],
  })
  @ApiExtension(DOCUMENT_PARTS, WEBHOOKS_DOCUMENT)
  create(@CurrentUser() session: Session, @Body() request: CreateWebhookRequest): Promise<CreatedWebhook> {
    return this.webhooks.create(session, request);
  }

  @Get()
  @ApiData(WebhookItem, {
    summary: 'List the webhooks of the caller',
    description: 'Newest first, without their secrets.',
    list: true,
    errors: [400, 401],
  })
  list(@CurrentUser() user: AuthenticatedUser, @Query() query: PageQuery): Promise<Page<WebhookItem>> {
    return this.webhooks.list(user, query);
  }

  @Get(':id')
  @ApiData(WebhookItem, {
    summary: 'One webhook of the caller',
    description: 'Whether it gets events, and what waits for it.',
    errors: [401, 404],
  })
  get(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<WebhookItem> {
    return this.webhooks.get(user, id);
  }

  @Patch(':id')
  @ApiData(WebhookItem, {
    summary: 'Change a webhook',
    description: `Fields that are left out stay. Another \`url\` is UNVERIFIED until its server has answered a challenge; what waits is sent there afterwards, and the notice \`reload\`, since what happens meanwhile is left out. Other \`topics\` hold from now on. With \`enabled: false\` nothing more is sent: what waits has FAILED. \`enabled: true\` begins with a challenge, and \`reload\`.`,
    errors: [400, 'invalid_json', 401, 404, 413, 415],
  })
  update(
    @CurrentUser() session: Session,
    @Param('id') id: string,
    @Body() request: UpdateWebhookRequest,
  ): Promise<WebhookItem> {
    return this.webhooks.update(session, id, request);
  }

  @Post(':id/secret')
  @HttpCode(200)
  @ApiData(RotatedSecret, {
    summary: 'Give a webhook a new secret',
    description:
      'For 24 hours the secret before signs too, beside the new one. If others know it, ask twice: only the last two sign.',
    errors: ['invalid_json', 401, 404, 413, 415],
  })
  rotate(@CurrentUser() session: Session, @Param('id') id: string): Promise<RotatedSecret> {
    return this.webhooks.rotate(session, id);
  }

  @Post(':id/test')
  @HttpCode(202)
  @ApiData(DeliveryItem, {
    summary: 'Send a test event to a webhook',
    description:
      'Sends an event of the topic `test`, which has `id`, `topic` and `occurredAt` only, whatever topics the webhook wants. It is tried once; the list of deliveries tells how it went. One at a time, and only while the webhook is ACTIVE.',
    status: 202,
    errors: ['invalid_json', 401, 404, 'webhook_not_active', 'webhook_test_pending', 413, 415],
  })
  test(@CurrentUser() session: Session, @Param('id') id: string): Promise<DeliveryItem> {
    return this.webhooks.test(session, id);
  }

  @Delete(':id')
  @ApiData(DeletedWebhook, {
    summary: 'Delete a webhook',
    description: 'Nothing more is sent to it, but for what is being sent at this moment.',
    errors: ['invalid_json', 401, 404, 413, 415],
  })
  delete(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<DeletedWebhook> {
    return this.webhooks.delete(user, id);
  }

  @Post(':id/challenge')
  @HttpCode(202)
  @ApiData(WebhookItem, {
    summary: 'Send the challenge again',
    description:
      'For a webhook that is UNVERIFIED or DISABLED, once a minute. The server has to answer it, as that of a new webhook, before events come.',
    status: 202,
    errors: ['invalid_json', 401, 404, 409, 413, 415],
  })
  challenge(@CurrentUser() session: Session, @Param('id') id: string): Promise<WebhookItem> {
    return this.webhooks.challenge(session, id);
  }

  @Get(':id/deliveries')
  @ApiData(DeliveryItem, {
    summary: 'What was sent to a webhook',
    description: 'What was and will be sent in the last seven days, that of the newest event first.',
    list: true,
    errors: [400, 401, 404],
  })
  deliveries(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Query() query: PageQuery,
  ): Promise<Page<DeliveryItem>> {
    return this.webhooks.deliveries(user, id, query);
  }

  @Post(':id/deliveries/:delivery/retry')
  @HttpCode(202)
  @ApiData(DeliveryItem, {
    summary: 'Send a delivery again',
    description:
      'Sends it at once, whether it was delivered, failed or still waits, and if that fails, as often as a new one.',
    status: 202,
    errors: ['invalid_json', 401, 404, 413, 415],
  })
  retry(
    @CurrentUser() user: AuthenticatedUser,
    @Param('id') id: string,
    @Param('delivery') delivery: string,
  ): Promise<DeliveryItem> {
    return this.webhooks.retry(user, id, delivery);
  }
}

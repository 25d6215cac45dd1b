import { Body, Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
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
    summary: 'Create a webhook',
    description:
      'Creates a webhook, which sends the events of the caller and of all draws to `url` as signed JSON, once its server has answered the challenge. At most 10 for each user. Signatures, retries and states: docs/api.md, Webhooks.',
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
    description: 'Returns the webhooks, newest first, without their secrets.',
    list: true,
    errors: [400, 401],
  })
  list(@CurrentUser() user: AuthenticatedUser, @Query() query: PageQuery): Promise<Page<WebhookItem>> {
    return this.webhooks.list(user, query);
  }

  @Get(':id')
  @ApiData(WebhookItem, {
    summary: 'Get a webhook',
    description: 'Returns a webhook with its status and the number of waiting deliveries.',
    errors: [401, 404],
  })
  get(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<WebhookItem> {
    return this.webhooks.get(user, id);
  }

  @Patch(':id')
  @ApiData(WebhookItem, {
    summary: 'Change a webhook',
    description:
      'Changes the given fields. Another `url` has to answer a challenge first. `enabled: false` stops all deliveries, and those that wait become FAILED; `enabled: true` starts with a challenge and `reload`.',
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
  @ApiData(RotatedSecret, {
    summary: 'Rotate the secret of a webhook',
    description:
      'Creates a new secret. The previous secret remains valid for 24 hours. If others know it, rotate twice: only the last two sign.',
    errors: ['invalid_json', 401, 404, 413, 415],
  })
  rotate(@CurrentUser() session: Session, @Param('id') id: string): Promise<RotatedSecret> {
    return this.webhooks.rotate(session, id);
  }

  @Post(':id/test')
  @ApiData(DeliveryItem, {
    summary: 'Send a test event to a webhook',
    description:
      'Sends one event of the topic `test`, whatever topics the webhook has; the list of deliveries reports the outcome. One at a time, and only while the webhook is ACTIVE.',
    status: 202,
    errors: ['invalid_json', 401, 404, 'webhook_not_active', 'webhook_test_pending', 413, 415],
  })
  test(@CurrentUser() session: Session, @Param('id') id: string): Promise<DeliveryItem> {
    return this.webhooks.test(session, id);
  }

  @Delete(':id')
  @ApiData(DeletedWebhook, {
    summary: 'Delete a webhook',
    description: 'Deletes a webhook. Stops all deliveries except those in progress.',
    errors: ['invalid_json', 401, 404, 413, 415],
  })
  delete(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string): Promise<DeletedWebhook> {
    return this.webhooks.delete(user, id);
  }

  @Post(':id/challenge')
  @ApiData(WebhookItem, {
    summary: 'Send the challenge again',
    description:
      'Sends the challenge of an UNVERIFIED or DISABLED webhook again, once a minute. The server has to answer it before it gets events.',
    status: 202,
    errors: ['invalid_json', 401, 404, 409, 413, 415],
  })
  challenge(@CurrentUser() session: Session, @Param('id') id: string): Promise<WebhookItem> {
    return this.webhooks.challenge(session, id);
  }

  @Get(':id/deliveries')
  @ApiData(DeliveryItem, {
    summary: 'List deliveries of a webhook',
    description: 'Returns deliveries of the last seven days, sent and waiting, newest event first.',
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
  @ApiData(DeliveryItem, {
    summary: 'Send a delivery again',
    description: 'Sends a delivery at once, whatever its status, and on failure as often as a new one.',
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

import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsIn,
  IsOptional,
  IsString,
  MaxLength,
} from 'class-validator';
import { ApiId, ApiInteger, ApiTime, field } from '#platform/openapi/fields';
import { EVENT_ID } from '#ledger/outbox/event-models';
import { RELOAD, TOPICS, type Topic } from '#ledger/outbox/ledger-event';

export const DELIVERY_STATUSES = ['PENDING', 'DELIVERED', 'FAILED'] as const;
export const WEBHOOK_STATUSES = ['UNVERIFIED', 'ACTIVE', 'PAUSED', 'DISABLED'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];
/** Sent without the content of an event: some events were left out, or the owner asked for a test. */
export const NOTICES = [RELOAD, 'test'] as const;
export type DeliveryTopic = Topic | 'test';
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

const URL_EXAMPLE = 'https://backend.example.org/savings-events';
const TOPICS_EXAMPLE = ['deposit.confirmed', 'withdrawal.confirmed'];
const SECRET_EXAMPLE = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD2sJ1q0Zt1mI=';
const CHALLENGE_EXAMPLE = 'q3Fh0Vw9c1sK7yJtB2mXzA';

const ApiLastError = (): PropertyDecorator =>
  ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'Reason of the last failure; null if the last attempt succeeded',
  });

const ApiUrl = field({ type: String, format: 'uri', maxLength: 2048, example: URL_EXAMPLE });
const ApiTopics = field({ enum: TOPICS, isArray: true, example: TOPICS_EXAMPLE });
const AreTopics = (): PropertyDecorator =>
  applyDecorators(
    IsIn(TOPICS, { each: true, message: `must name some of: ${TOPICS.join(', ')}` }),
    ArrayUnique(),
    ArrayNotEmpty(),
    IsArray(),
    IsOptional(),
  );

/** What a webhook is sent beside events. `reload` has the id of the first event that was left out. */
export class WebhookNotice {
  @ApiProperty({ example: EVENT_ID }) id: string;
  @ApiProperty({ enum: NOTICES, example: 'test' }) topic: (typeof NOTICES)[number];
  @ApiTime() occurredAt: string;
}

/** Sent before the first event. */
export class WebhookChallenge {
  @ApiId() id: string;
  @ApiProperty({ type: String, enum: ['challenge'] }) topic: 'challenge';
  @ApiTime() occurredAt: string;
  @ApiProperty({ description: 'Text that the response has to repeat', example: CHALLENGE_EXAMPLE })
  challenge: string;
}

export class ChallengeAnswer {
  @ApiProperty({ example: CHALLENGE_EXAMPLE }) challenge: string;
}

export class CreateWebhookRequest {
  @ApiUrl('URL for events: https, on the public internet')
  @IsString()
  @MaxLength(2048)
  url: string;

  @ApiTopics('Topics to send; by default all, including those of later versions', { required: false })
  @AreTopics()
  topics?: Topic[];
}

export class UpdateWebhookRequest {
  @ApiUrl('New URL, whose server has to answer a challenge', { required: false })
  @IsOptional()
  @IsString()
  @MaxLength(2048)
  url?: string | null;

  @ApiTopics('Topics to send; null for all, including those of later versions', {
    required: false,
    nullable: true,
  })
  @AreTopics()
  topics?: Topic[] | null;

  @ApiProperty({
    type: Boolean,
    required: false,
    example: true,
    description: 'false disables the webhook; true enables it, starting with a challenge',
  })
  @IsOptional()
  @IsBoolean()
  enabled?: boolean | null;
}

export class WebhookItem {
  @ApiId() id: string;
  @ApiProperty({ format: 'uri', example: URL_EXAMPLE }) url: string;
  @ApiTopics('Topics to send; null for all', { nullable: true }) topics: Topic[] | null;
  @ApiTime() createdAt: string;
  @ApiProperty({
    enum: WEBHOOK_STATUSES,
    example: 'ACTIVE',
    description:
      'UNVERIFIED until the server answers the challenge; PAUSED after repeated failures, until `retryAt`; DISABLED by its owner or, with `failingSince`, after days of failures. Only ACTIVE and PAUSED webhooks get events',
  })
  status: WebhookStatus;
  @ApiInteger('Number of consecutive failures', { example: 0 }) failures: number;
  @ApiTime('Time of the first of these failures', { nullable: true }) failingSince: string | null;
  @ApiLastError() lastError: string | null;
  @ApiTime('Time of the next attempt, while UNVERIFIED or PAUSED', { nullable: true }) retryAt: string | null;
  @ApiInteger('Number of waiting deliveries', { example: 0 }) pending: number;
  @ApiProperty({ description: 'Whether events were left out because too many waited', example: false })
  isFull: boolean;
  @ApiTime('End of validity of the previous secret, while a secret rotates', { nullable: true })
  previousSecretUntil: string | null;
}

export class CreatedWebhook extends WebhookItem {
  @ApiProperty({ description: 'Signing secret, shown only here', example: SECRET_EXAMPLE }) secret: string;
}

export class RotatedSecret {
  @ApiId() id: string;
  @ApiProperty({ description: 'New signing secret, shown only here', example: SECRET_EXAMPLE })
  secret: string;
  @ApiTime('End of validity of the previous secret') previousSecretUntil: string;
}

export class DeletedWebhook {
  @ApiId() id: string;
}

export class DeliveryItem {
  @ApiId('Value of the header `Webhook-Id`, the same in all attempts') id: string;
  @ApiProperty({
    example: EVENT_ID,
    description: '`id` of the event; ids of later events are greater, as text',
  })
  eventId: string;
  @ApiProperty({ enum: [...TOPICS, 'test'], example: 'deposit.confirmed' }) topic: DeliveryTopic;
  @ApiProperty({ enum: DELIVERY_STATUSES, example: 'DELIVERED' }) status: DeliveryStatus;
  @ApiInteger(undefined, { example: 1 }) attempts: number;
  @ApiInteger('HTTP status of the last attempt; null if there was none', { nullable: true, example: 204 })
  lastStatus: number | null;
  @ApiLastError() lastError: string | null;
  @ApiTime('Time of the next attempt, while PENDING', { nullable: true }) nextAttemptAt: Date | null;
  @ApiTime() createdAt: Date;
  @ApiTime(undefined, { nullable: true }) deliveredAt: Date | null;
}

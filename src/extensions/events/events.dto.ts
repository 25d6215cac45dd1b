import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { ApiTime } from '#platform/openapi/fields';
import { TOPICS, type Topic } from '#ledger/outbox/ledger-event';

export class EventsQuery {
  @ApiProperty({ required: false, description: 'Ticket of `POST /events/ticket`, instead of a token' })
  @IsOptional()
  @IsString()
  @MaxLength(100)
  ticket?: string;

  @ApiProperty({
    required: false,
    type: String,
    description: 'Topics, separated by commas; all by default',
    example: 'deposit.confirmed,draw.completed',
  })
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.split(',') : value))
  @IsIn(TOPICS, { each: true, message: `must name some of: ${TOPICS.join(', ')}` })
  topics?: Topic[];

  @ApiProperty({ required: false, description: 'Same as the header `Last-Event-ID`, which takes precedence' })
  @IsOptional()
  @IsString()
  @MaxLength(5000)
  lastEventId?: string;
}

/** What the stream sends, item by item. OpenAPI 3.1 has no words of its own for streams, JSON Schema has some. */
export const STREAM = {
  type: 'string',
  contentMediaType: 'text/event-stream',
  contentSchema: {
    type: 'array',
    items: {
      type: 'object',
      required: ['id', 'event', 'data'],
      properties: {
        id: { type: 'string' },
        event: { type: 'string', enum: TOPICS },
        data: {
          type: 'string',
          contentMediaType: 'application/json',
          contentSchema: { $ref: '#/components/schemas/EventPayload' },
        },
      },
    },
  },
};

export class EventTicket {
  @ApiProperty({
    description: 'Ticket for one stream: `GET /events?ticket=…`',
    example: 'mG0zq2T5yC8fV1rJ7wXaN4bKeHsLdP3u',
  })
  ticket: string;
  @ApiTime('Expiry, 30 seconds from now') expiresAt: string;
}

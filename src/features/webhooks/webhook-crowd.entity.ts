import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DeliveryTopic } from './webhooks.dto';

/** An event for more webhooks than are served at once, and the last webhook that it has come to. */
@Entity('webhook_crowds')
export class WebhookCrowd {
  /** A pool, or `all`. Subjects take turns. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'webhook_crowds_pkey', collation: 'C' })
  subject: string;

  @PrimaryColumn({
    type: 'text',
    name: 'event_id',
    primaryKeyConstraintName: 'webhook_crowds_pkey',
    collation: 'C',
  })
  eventId: string;

  @Column('text')
  topic: DeliveryTopic;

  @Column({ type: 'text', collation: 'C' })
  address: string;

  @Column('uuid')
  webhook: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  @Index('webhook_crowds_created_at_idx')
  createdAt: Date;
}

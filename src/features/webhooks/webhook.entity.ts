import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, Unique } from 'typeorm';
import type { Topic } from '#ledger/outbox/ledger-event';
import { User } from '#features/access/user.entity';
import type { DeliveryStatus } from './webhooks.dto';

/** A receiver of events that a user has named. */
@Entity('webhooks')
@Unique('webhooks_slot_key', ['userId', 'slot'])
@Check('webhooks_slot_check', 'slot BETWEEN 1 AND 10')
export class Webhook {
  /** UUIDv7, so that ids sort by creation time. */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'webhooks_pkey' })
  id: string;

  @Column('uuid', { name: 'user_id' })
  userId: string;

  @ManyToOne(() => User, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'user_id', foreignKeyConstraintName: 'webhooks_user_fkey' })
  user: User;

  /** The user's, lower-cased: events name addresses. */
  @Column({ type: 'text', collation: 'C' })
  @Index('webhooks_address_idx')
  address: string;

  /** Limits the webhooks per user: concurrent requests cannot take the same slot. */
  @Column('smallint')
  slot: number;

  @Column('text')
  url: string;

  @Column({ type: 'text', array: true, nullable: true, comment: 'null: all' })
  topics: Topic[] | null;

  @Column('text')
  secret: string;

  /** Events with smaller ids were committed before the webhook was created. */
  @Column({ type: 'text', name: 'first_event', collation: 'C', default: '' })
  firstEvent: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;
}

/**
 * An event that is or was sent to a webhook. It has no foreign key: otherwise deleting a webhook would take longer the
 * more was sent to it.
 */
@Entity('webhook_deliveries')
@Unique('webhook_deliveries_event_key', ['webhookId', 'eventId'])
@Check('webhook_deliveries_status_check', `status IN ('PENDING', 'DELIVERED', 'FAILED')`)
@Index('webhook_deliveries_pending_idx', ['webhookId', 'nextAttemptAt'], { where: `status = 'PENDING'` })
export class WebhookDelivery {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'webhook_deliveries_pkey' })
  id: string;

  @Column('uuid', { name: 'webhook_id' })
  webhookId: string;

  @Column({ type: 'text', name: 'event_id', collation: 'C' })
  eventId: string;

  @Column('text')
  topic: Topic;

  /** The event as it is sent. */
  @Column('text')
  body: string;

  @Column({ type: 'text', default: 'PENDING' })
  status: DeliveryStatus;

  @Column('integer', { default: 0 })
  attempts: number;

  @Column('integer', { name: 'last_status', nullable: true })
  lastStatus: number | null;

  @Column('text', { name: 'last_error', nullable: true })
  lastError: string | null;

  @Column({ type: 'timestamptz', name: 'first_attempt_at', precision: 3, nullable: true })
  firstAttemptAt: Date | null;

  @Column({ type: 'timestamptz', name: 'next_attempt_at', precision: 3, default: () => 'now()' })
  nextAttemptAt: Date;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  @Index('webhook_deliveries_created_at_idx')
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'delivered_at', precision: 3, nullable: true })
  deliveredAt: Date | null;
}

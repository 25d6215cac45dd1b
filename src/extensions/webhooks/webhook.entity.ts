import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn, Unique } from 'typeorm';
import type { Topic } from '#ledger/outbox/ledger-event';
import { User } from '#features/access/user.entity';
import type { Lane } from './slots';
import type { DeliveryStatus, DeliveryTopic, WebhookStatus } from './webhooks.dto';

/** A receiver of events that a user has named. */
@Entity('webhooks', {
  comment: 'Receivers of events that users have named',
})
@Unique('webhooks_slot_key', ['userId', 'slot'])
@Check('webhooks_slot_check', 'slot BETWEEN 1 AND 10')
@Check('webhooks_status_check', `status IN ('UNVERIFIED', 'ACTIVE', 'PAUSED', 'DISABLED')`)
@Check('webhooks_left_out_check', 'is_full = (left_out IS NOT NULL)')
@Check('webhooks_lane_check', `lane IN ('quick', 'challenge', 'slow')`)
@Index('webhooks_address_idx', ['address', 'id'])
@Index('webhooks_due_at_idx', ['lane', 'dueAt', 'id'], { where: 'due_at IS NOT NULL' })
@Index('webhooks_previous_secret_until_idx', ['previousSecretUntil'], {
  where: 'previous_secret_until IS NOT NULL',
})
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
  address: string;

  /** Limits the webhooks per user: concurrent requests cannot take the same slot. */
  @Column('smallint')
  slot: number;

  @Column('text')
  url: string;

  /** Of the URL: users share the requests that one host gets. */
  @Column({ type: 'text', collation: 'C' })
  host: string;

  @Column({ type: 'text', array: true, nullable: true, comment: 'null: all' })
  topics: Topic[] | null;

  @Column('text')
  secret: string;

  /** After a rotation both sign until then. */
  @Column('text', { name: 'previous_secret', nullable: true })
  previousSecret: string | null;

  @Column({ type: 'timestamptz', name: 'previous_secret_until', precision: 3, nullable: true })
  previousSecretUntil: Date | null;

  /** Events with smaller ids were committed before the webhook was active. */
  @Column({ type: 'text', name: 'first_event', collation: 'C', default: '' })
  firstEvent: string;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  createdAt: Date;

  @Column('text')
  status: WebhookStatus;

  /** Rounds of attempts that failed, in a row and since when, and why the last one did. */
  @Column('integer', { default: 0 })
  failures: number;

  @Column({ type: 'timestamptz', name: 'failing_since', precision: 3, nullable: true })
  failingSince: Date | null;

  @Column('text', { name: 'last_error', nullable: true })
  lastError: string | null;

  /** The last round took long, also if it succeeded. */
  @Column('boolean', { name: 'is_slow', default: false })
  isSlow: boolean;

  /** Written by versions before 2.0. */
  @Column({ type: 'text', nullable: true, collation: 'C' })
  network: string | null;

  /** While UNVERIFIED: how often the challenge was sent, and when the owner asked for that. */
  @Column('smallint', { name: 'challenge_tries', default: 0 })
  challengeTries: number;

  @Column({ type: 'timestamptz', name: 'challenge_asked_at', precision: 3, default: '-infinity' })
  challengeAskedAt: Date;

  /** Nothing is sent before. */
  @Column({ type: 'timestamptz', name: 'retry_at', precision: 3, default: '-infinity' })
  retryAt: Date;

  /** The end of the lease of the process that sends to it; in the past, the time when that ended. */
  @Column({ type: 'timestamptz', name: 'taken_until', precision: 3, default: '-infinity' })
  takenUntil: Date;

  /** Derived: deliveries that are PENDING, and when the next of them may be sent, null if there is none. */
  @Column('integer', { default: 0 })
  pending: number;

  @Column({ type: 'timestamptz', name: 'next_delivery_at', precision: 3, nullable: true })
  nextDeliveryAt: Date | null;

  /** Derived: who shares slots with it, and when the sender has something to do for it, null if never. */
  @Column({ type: 'text', collation: 'C', default: 'quick' })
  lane: Lane;

  @Column({ type: 'timestamptz', name: 'due_at', precision: 3, nullable: true })
  dueAt: Date | null;

  /** So many were pending that events were left out. */
  @Column('boolean', { name: 'is_full', default: false })
  isFull: boolean;

  /** The first of these. */
  @Column({ type: 'text', name: 'left_out', collation: 'C', nullable: true })
  leftOut: string | null;
}

/**
 * An event that is or was sent to a webhook. It has no foreign key: otherwise deleting a webhook would take longer the
 * more was sent to it.
 */
@Entity('webhook_deliveries', {
  comment: 'What was sent or is to be sent to a webhook, with its attempts',
})
@Unique('webhook_deliveries_event_key', ['webhookId', 'eventId'])
@Check('webhook_deliveries_status_check', `status IN ('PENDING', 'DELIVERED', 'FAILED')`)
@Index('webhook_deliveries_pending_idx', ['webhookId', 'nextAttemptAt'], { where: `status = 'PENDING'` })
export class WebhookDelivery {
  @PrimaryColumn('uuid', {
    primaryKeyConstraintName: 'webhook_deliveries_pkey',
    default: () => 'sorted_uuid()',
  })
  id: string;

  @Column('uuid', { name: 'webhook_id' })
  webhookId: string;

  @Column({ type: 'text', name: 'event_id', collation: 'C' })
  eventId: string;

  @Column('text')
  topic: DeliveryTopic;

  @Column({ type: 'text', default: 'PENDING' })
  status: DeliveryStatus;

  @Column('integer', { default: 0 })
  attempts: number;

  @Column('integer', { name: 'last_status', nullable: true })
  lastStatus: number | null;

  @Column('text', { name: 'last_error', nullable: true })
  lastError: string | null;

  /** Attempts that failed and count: the settings say how many there are. */
  @Column('integer', { default: 0 })
  tries: number;

  @Column({ type: 'timestamptz', name: 'next_attempt_at', precision: 3, default: () => 'now()' })
  nextAttemptAt: Date;

  @Column({ type: 'timestamptz', name: 'created_at', precision: 3, default: () => 'now()' })
  @Index('webhook_deliveries_created_at_idx')
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'delivered_at', precision: 3, nullable: true })
  deliveredAt: Date | null;
}

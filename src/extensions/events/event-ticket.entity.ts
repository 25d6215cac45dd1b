import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { Session } from '#features/access/current-user';

/** Opens one stream of events. Only its digest is stored, so reading the table opens no stream. */
@Entity('event_tickets', {
  comment:
    'Each ticket opens one stream of events. Only its digest is stored, so reading the table opens no stream',
})
export class StoredTicket {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'event_tickets_pkey', collation: 'C' })
  digest: string;

  @Column('jsonb')
  session: Session;

  @Column({ type: 'timestamptz', name: 'expires_at', precision: 3 })
  @Index('event_tickets_expires_at_idx')
  expiresAt: Date;
}

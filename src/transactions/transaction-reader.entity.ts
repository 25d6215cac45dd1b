import { Entity, PrimaryColumn } from 'typeorm';
import type { TransactionType } from '../common/types';

/** Each transaction once for everyone who may read it; kept by the database, and what makes lists cost the same for all. */
@Entity('transaction_readers', {
  comment: 'Derived: each transaction once for the owner and every member of its pool',
})
export class TransactionReader {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'transaction_readers_pkey', collation: 'C' })
  address: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'transaction_readers_pkey', collation: 'C' })
  type: TransactionType;

  @PrimaryColumn('uuid', { name: 'transaction_id', primaryKeyConstraintName: 'transaction_readers_pkey' })
  transactionId: string;
}

import { Column, Entity, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { Pool } from '#features/pools/pool.entity';

@Entity('example_notes')
export class Note {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  text: string;

  @ManyToOne(() => Pool)
  @JoinColumn({ name: 'pool_id' })
  pool: Pool;
}

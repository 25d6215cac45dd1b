import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { DrawStatus } from '#values/types';

/** A lottery draw, built from its events on the chain. */
@Entity('lottery_draws', {
  comment:
    'Derived: draws of lottery contracts, from their events, with sums so that a purchase need not add them up',
})
@Index('lottery_draws_open_idx', ['contract', 'drawId'], { where: `status IN ('ACTIVE', 'DRAWING')` })
@Index('lottery_draws_completed_idx', ['drawnAt', 'drawId', 'contract'], { where: `status = 'COMPLETED'` })
@Check('lottery_draws_contract_check', 'is_address(contract)')
@Check('lottery_draws_draw_id_check', 'draw_id BETWEEN 0 AND 9007199254740991')
@Check('lottery_draws_status_check', `status IN ('ACTIVE', 'DRAWING', 'COMPLETED', 'CANCELLED')`)
@Check(
  'lottery_draws_completed_check',
  `(status = 'COMPLETED') = (winner IS NOT NULL AND prize IS NOT NULL AND drawn_at IS NOT NULL)`,
)
export class LotteryDraw {
  /** Each contract numbers its draws from 1. */
  @PrimaryColumn('text', { collation: 'C', primaryKeyConstraintName: 'lottery_draws_pkey' })
  contract: string;

  @PrimaryColumn('bigint', { name: 'draw_id', primaryKeyConstraintName: 'lottery_draws_pkey' })
  drawId: string;

  @Column({ type: 'text', collation: 'C' })
  status: DrawStatus;

  @Column('numeric', { name: 'ticket_price', precision: 78, scale: 0 })
  ticketPrice: string;

  @Column('numeric', { name: 'prize_pool' })
  prizePool: string;

  @Column('integer')
  participants: number;

  @Column('numeric', { name: 'total_tickets' })
  totalTickets: string;

  @Column({ type: 'timestamptz', name: 'draw_time', precision: 3 })
  drawTime: Date;

  @Column({ type: 'text', nullable: true, collation: 'C' })
  winner: string | null;

  @Column('numeric', { name: 'winner_tickets', nullable: true })
  winnerTickets: string | null;

  @Column('numeric', { precision: 78, scale: 0, nullable: true })
  prize: string | null;

  @Column({ type: 'timestamptz', name: 'drawn_at', precision: 3, nullable: true })
  drawnAt: Date | null;

  /** The block whose hash picks the winner: the one after that of the close. */
  @Column('bigint', { name: 'pick_block', nullable: true })
  pickBlock: string | null;

  /** Whether the winner has the prize. */
  @Column('boolean', { default: false })
  paid: boolean;
}

import { Column, Entity, JoinColumn, ManyToOne, OneToMany, PrimaryColumn } from 'typeorm';

/** The service's tables with the relations that a TypeORM user would draw. */

@Entity('users')
export class User {
  @PrimaryColumn('uuid') id: string;
  @Column({ type: 'text' }) address: string;
  @Column({ type: 'timestamptz', name: 'created_at' }) createdAt: Date;
  @OneToMany(() => Pool, (pool) => pool.owner) pools: Pool[];
}

@Entity('nonces')
export class Nonce {
  @PrimaryColumn('text') nonce: string;
  @Column({ type: 'text', nullable: true }) address: string | null;
  @Column({ type: 'timestamptz', name: 'expires_at' }) expiresAt: Date;
}

@Entity('pools')
export class Pool {
  @PrimaryColumn('uuid') id: string;
  @Column('text') type: string;
  @ManyToOne(() => User, (user) => user.pools) @JoinColumn({ name: 'owner_id' }) owner: User;
  @Column({ type: 'text', name: 'contract_address' }) contractAddress: string;
  @Column('numeric') balance: string;
  @Column({ type: 'numeric', name: 'total_yield', default: 0 }) totalYield: string;
  @Column({ type: 'numeric', name: 'claimed_yield', default: 0 }) claimedYield: string;
  @Column({ type: 'numeric', name: 'pending_balance', default: 0 }) pendingBalance: string;
  @Column({
    type: 'bigint',
    name: 'apr_bps',
    default: 0,
    transformer: { from: Number, to: (bps?: number) => bps },
  })
  aprBps: number;
  @Column({ type: 'boolean', name: 'auto_compound' }) autoCompound: boolean;
  @Column({ type: 'timestamptz', name: 'created_at' }) createdAt: Date;
  @Column({ type: 'timestamptz', name: 'last_update' }) lastUpdate: Date;
  @Column({ type: 'timestamptz', name: 'last_claimed_at', nullable: true }) lastClaimedAt: Date | null;
  @OneToMany(() => PoolMember, (member) => member.pool, { cascade: true }) members: PoolMember[];
  @OneToMany(() => Transaction, (transaction) => transaction.pool, { cascade: true })
  transactions: Transaction[];
}

@Entity('pool_members')
export class PoolMember {
  @PrimaryColumn({ type: 'uuid', name: 'pool_id' }) poolId: string;
  @PrimaryColumn('text') address: string;
  @Column('text') role: string;
  @Column('text') type: string;
  @ManyToOne(() => Pool, (pool) => pool.members) @JoinColumn({ name: 'pool_id' }) pool: Pool;
}

@Entity('transactions')
export class Transaction {
  @PrimaryColumn('uuid') id: string;
  @Column({ type: 'uuid', name: 'pool_id' }) poolId: string;
  @ManyToOne(() => Pool, (pool) => pool.transactions) @JoinColumn({ name: 'pool_id' }) pool: Pool;
  @Column({ type: 'uuid', name: 'owner_id' }) ownerId: string;
  @Column({ type: 'boolean', name: 'by_owner' }) byOwner: boolean;
  @Column('text') type: string;
  @Column('text') status: string;
  @Column('text') account: string;
  @Column('numeric') amount: string;
  @Column({ type: 'numeric', name: 'requested_amount', nullable: true }) requestedAmount: string | null;
  @Column({ type: 'text', name: 'tx_hash', nullable: true }) txHash: string | null;
  @Column({ type: 'bigint', name: 'block_number', nullable: true }) blockNumber: string | null;
  @Column({ type: 'numeric', name: 'gas_used', nullable: true }) gasUsed: string | null;
  @Column({ type: 'numeric', name: 'gas_price', nullable: true }) gasPrice: string | null;
  @Column({ type: 'timestamptz', name: 'created_at' }) createdAt: Date;
  @Column({ type: 'timestamptz', name: 'confirmed_at', nullable: true }) confirmedAt: Date | null;
}

@Entity('lottery_draws')
export class LotteryDraw {
  @PrimaryColumn('text') contract: string;
  @PrimaryColumn({ type: 'bigint', name: 'draw_id' }) drawId: string;
  @Column('text') status: string;
  @Column({ type: 'numeric', name: 'prize_pool' }) prizePool: string;
  @Column('integer') participants: number;
  @Column({ type: 'numeric', name: 'total_tickets' }) totalTickets: string;
  @Column({ type: 'timestamptz', name: 'draw_time' }) drawTime: Date;
  @Column({ type: 'text', nullable: true }) winner: string | null;
  @Column({ type: 'numeric', name: 'winner_tickets', nullable: true }) winnerTickets: string | null;
  @Column({ type: 'numeric', nullable: true }) prize: string | null;
  @Column({ type: 'timestamptz', name: 'drawn_at', nullable: true }) drawnAt: Date | null;
}

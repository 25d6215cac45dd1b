import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * What the indexer read from the chain at its start: a single row, or none before an indexer has led. The fields of the
 * token are null until the indexer has read all three of them.
 */
@Entity('chain_facts', {
  comment:
    "What the indexer read from the chain at startup: one row. The token is the first of the contracts', in which sums over pools are told, and null until it has been read",
})
@Check('chain_facts_single_check', 'id = 1')
@Check(
  'chain_facts_token_check',
  'num_nulls(token_address, token_symbol, token_decimals) IN (0, 3) AND is_address(token_address)',
)
export class ChainFacts {
  @PrimaryColumn('smallint', { primaryKeyConstraintName: 'chain_facts_pkey', default: 1 })
  id: number;

  @Column('bigint', { name: 'chain_id', transformer: { from: Number, to: String } })
  chainId: number;

  /** Lower case. */
  @Column({ type: 'text', name: 'token_address', nullable: true, collation: 'C' })
  tokenAddress: string | null;

  /** Empty when the token has none. */
  @Column('text', { name: 'token_symbol', nullable: true })
  tokenSymbol: string | null;

  @Column('smallint', { name: 'token_decimals', nullable: true })
  tokenDecimals: number | null;
}

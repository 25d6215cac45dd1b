import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the indexer knows of the chain: where it stands, the last blocks, and every event it has read. */
export class Chain1767312000000 implements MigrationInterface {
  name = 'Chain1767312000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE chain_cursor (
        id smallint NOT NULL DEFAULT 1,
        chain_id bigint NOT NULL,
        genesis_hash text COLLATE "C" NOT NULL,
        block_number bigint NOT NULL,
        block_hash text COLLATE "C" NOT NULL,
        block_time timestamptz(3) NOT NULL,
        applied_number bigint NOT NULL,
        epoch bigint NOT NULL DEFAULT 0,
        head_number bigint NOT NULL DEFAULT 0,
        -- Up to this block the contracts' own counts proved that no event is missing.
        proven_number bigint NOT NULL DEFAULT 0,
        state text COLLATE "C" NOT NULL DEFAULT 'syncing',
        -- The process is alive; and it last moved the cursor, or found it at the head.
        beat_at timestamptz(3) NOT NULL,
        progress_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT chain_cursor_pkey PRIMARY KEY (id),
        CONSTRAINT chain_cursor_single_check CHECK (id = 1),
        CONSTRAINT chain_cursor_state_check CHECK (state IN ('synced', 'syncing', 'disconnected', 'halted'))
      ) WITH (fillfactor = 50);

      CREATE TABLE chain_blocks (
        number bigint NOT NULL,
        hash text COLLATE "C" NOT NULL,
        parent_hash text COLLATE "C" NOT NULL,
        time timestamptz(3) NOT NULL,
        CONSTRAINT chain_blocks_pkey PRIMARY KEY (number)
      );

      CREATE TABLE chain_events (
        block_number bigint NOT NULL,
        log_index integer NOT NULL,
        block_hash text COLLATE "C" NOT NULL,
        block_time timestamptz(3) NOT NULL,
        tx_hash text COLLATE "C" NOT NULL,
        contract text COLLATE "C" NOT NULL,
        seq bigint NOT NULL,
        kind text COLLATE "C" NOT NULL,
        pool_id uuid,
        ref uuid,
        draw_id numeric(20,0),
        account text COLLATE "C",
        amount numeric(78,0),
        apr_bps bigint,
        draw_time timestamptz(3),
        outcome text COLLATE "C" NOT NULL DEFAULT 'WAITING',
        transaction_id uuid,
        CONSTRAINT chain_events_pkey PRIMARY KEY (block_number, log_index),
        CONSTRAINT chain_events_seq_key UNIQUE (contract, seq),
        CONSTRAINT chain_events_outcome_check
          CHECK (outcome IN ('WAITING', 'APPLIED', 'UNKNOWN_POOL', 'OVERDRAW', 'REFUSED'))
      );
      CREATE INDEX chain_events_unknown_pool_idx ON chain_events (pool_id) WHERE outcome = 'UNKNOWN_POOL';
      CREATE INDEX chain_events_draw_id_idx ON chain_events (draw_id, block_number, log_index)
        WHERE draw_id IS NOT NULL;
      CREATE INDEX chain_events_waiting_idx ON chain_events (block_number) WHERE outcome = 'WAITING';
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE chain_events, chain_blocks, chain_cursor');
  }
}

import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Receivers of events that users have named, and what is sent to them. */
export class Webhooks1767520000000 implements MigrationInterface {
  name = 'Webhooks1767520000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE webhooks (
        id uuid NOT NULL,
        user_id uuid NOT NULL,
        address text COLLATE "C" NOT NULL,
        -- Limits the webhooks per user: concurrent requests cannot take the same slot.
        slot smallint NOT NULL,
        url text NOT NULL,
        topics text[],
        secret text NOT NULL,
        -- Events with smaller ids were committed before the webhook was created.
        first_event text COLLATE "C" NOT NULL DEFAULT '',
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT webhooks_pkey PRIMARY KEY (id),
        CONSTRAINT webhooks_slot_key UNIQUE (user_id, slot),
        CONSTRAINT webhooks_slot_check CHECK (slot BETWEEN 1 AND 10),
        CONSTRAINT webhooks_user_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
      );
      CREATE INDEX webhooks_address_idx ON webhooks (address);
      COMMENT ON COLUMN webhooks.topics IS 'null: all';

      -- No foreign key to webhooks: otherwise deleting a webhook would take longer the more was sent to it. Its
      -- remaining deliveries are not sent any more, and are removed when they are old enough.
      CREATE TABLE webhook_deliveries (
        id uuid NOT NULL,
        webhook_id uuid NOT NULL,
        event_id text COLLATE "C" NOT NULL,
        topic text NOT NULL,
        body text NOT NULL,
        status text NOT NULL DEFAULT 'PENDING',
        attempts integer NOT NULL DEFAULT 0,
        last_status integer,
        last_error text,
        first_attempt_at timestamptz(3),
        next_attempt_at timestamptz(3) NOT NULL DEFAULT now(),
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        delivered_at timestamptz(3),
        CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
        CONSTRAINT webhook_deliveries_event_key UNIQUE (webhook_id, event_id),
        CONSTRAINT webhook_deliveries_status_check CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED'))
      ) WITH (fillfactor = 80);
      CREATE INDEX webhook_deliveries_pending_idx ON webhook_deliveries (webhook_id, next_attempt_at)
        WHERE status = 'PENDING';
      CREATE INDEX webhook_deliveries_created_at_idx ON webhook_deliveries (created_at);
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE webhook_deliveries, webhooks');
  }
}

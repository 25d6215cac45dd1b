import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The rest of submissions_follow, behind what it writes of payments that a reorganisation takes back. */
const follow = (columns: string, values: string, changes: string): string => `
  CREATE OR REPLACE FUNCTION submissions_follow() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = public, pg_temp AS $$
  BEGIN
    -- Most updates only fill in gas.
    IF EXISTS (SELECT FROM added r JOIN removed o ON o.id = r.id WHERE r.status <> o.status) THEN
      DELETE FROM submissions WHERE transaction_id IN (SELECT id FROM added WHERE status = 'CONFIRMED');
      INSERT INTO submissions (transaction_id, account, hash, at, check_at${columns})
      SELECT r.id, r.account, o.tx_hash, now(), now() + interval '20 seconds'${values}
      FROM added r JOIN removed o ON o.id = r.id
      WHERE o.status = 'CONFIRMED' AND r.status <> 'CONFIRMED' AND r.type = 'DEPOSIT'
      ON CONFLICT ON CONSTRAINT submissions_pkey DO UPDATE SET hash = excluded.hash, at = excluded.at${changes};
      INSERT INTO outbox_staged (direction, blocks, logs, items)
      SELECT 0, array_agg(NULL::bigint), array_agg(NULL::bigint), array_agg(to_json(event))
      FROM (SELECT row_number() OVER () - 1 AS n, event FROM (
        SELECT 'deposit.submitted' AS topic, iso(clock_timestamp()) AS "occurredAt", t.pool_id AS "poolId",
          t.id AS "transactionId", t.account, t.amount::text AS amount, s.hash AS "txHash"
        FROM added t JOIN removed o ON o.id = t.id JOIN submissions s ON s.transaction_id = t.id
        WHERE o.status = 'EXPIRED' AND t.status = 'PENDING' ORDER BY t.id) event) numbered
      GROUP BY n / 1000;
    END IF;
    RETURN NULL;
  END $$`;

const comment = (more: string): string => `
  COMMENT ON COLUMN submissions.checks IS 'How often in a row the indexer has found the same: that the chain''s nodes know '
  'the hash, or that they do not${more}'`;

/** A payment that a reorganisation takes back was on the chain: only the chain can say that it will not come again. */
export class ProvenPayments1795790000000 implements MigrationInterface {
  name = 'ProvenPayments1795790000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(follow(', known', ', true', ', known = true, sender = NULL, nonce = NULL'));
    await queryRunner.query(comment('; -1: its payer took it back before the first look'));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(follow('', '', ''));
    await queryRunner.query(comment(''));
  }
}

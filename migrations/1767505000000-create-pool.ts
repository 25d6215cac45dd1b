import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * POST /pools inserts into the view new_pools: a pool with its members and its pending deposit. The few rows are known
 * beforehand, so their totals are kept and their event is written here in one statement, which costs less than the
 * triggers of other writers.
 */
export class CreatePool1767505000000 implements MigrationInterface {
  name = 'CreatePool1767505000000';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE VIEW new_pools AS SELECT NULL::uuid AS pool_id, NULL::text AS type, NULL::uuid AS owner_id,
        NULL::text AS contract_address, NULL::boolean AS auto_compound, NULL::text[] AS members,
        NULL::timestamptz AS created_at, NULL::text AS owner, NULL::uuid AS deposit_id, NULL::numeric AS amount
      WHERE false;

      CREATE FUNCTION create_pool() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        -- Only a superuser may declare a setting of that kind with the function.
        PERFORM set_config('savings.creating', 'on', true);
        WITH pool AS (
          INSERT INTO pools (id, type, owner_id, contract_address, auto_compound, member_count, created_at, last_update,
            balance, pending_balance, deposit_count, last_deposit_id)
          VALUES (NEW.pool_id, NEW.type, NEW.owner_id, NEW.contract_address, NEW.auto_compound, cardinality(NEW.members),
            NEW.created_at, NEW.created_at, NEW.amount, NEW.amount, 1, NEW.deposit_id)
        ), members AS (
          INSERT INTO pool_members (pool_id, address, role, type)
          SELECT NEW.pool_id, NEW.owner, 'OWNER', NEW.type
          UNION ALL SELECT NEW.pool_id, unnest(NEW.members), 'MEMBER', NEW.type
        ), deposit AS (
          INSERT INTO transactions (id, pool_id, owner_id, by_owner, type, status, account, amount, requested_amount, created_at)
          VALUES (NEW.deposit_id, NEW.pool_id, NEW.owner_id, true, 'DEPOSIT', 'PENDING', NEW.owner, NEW.amount, NEW.amount,
            NEW.created_at)
        ), day AS (
          INSERT INTO account_days AS a (address, day, writer, deposited, pending, deposits)
          VALUES (NEW.owner, (NEW.created_at AT TIME ZONE 'UTC')::date, 1, NEW.amount, NEW.amount, 1)
          ON CONFLICT ON CONSTRAINT account_days_pkey DO UPDATE SET
            deposited = a.deposited + excluded.deposited, pending = a.pending + excluded.pending, deposits = a.deposits + 1
        ), event AS (
          INSERT INTO outbox (count, items) VALUES (1, json_build_array(json_build_object(
            'topic', 'pool.created', 'occurredAt', iso(NEW.created_at), 'poolId', NEW.pool_id,
            'transactionId', NEW.deposit_id, 'transactionType', 'DEPOSIT', 'account', NEW.owner, 'amount', NEW.amount::text)))
        )
        UPDATE pool_totals SET pools = pools + 1, deposited = deposited + NEW.amount, pending = pending + NEW.amount
          WHERE shard = pool_totals_shard() AND type = NEW.type;
        PERFORM set_config('savings.creating', 'off', true);
        RETURN NEW;
      END $$;
      CREATE TRIGGER create_pool INSTEAD OF INSERT ON new_pools FOR EACH ROW EXECUTE FUNCTION create_pool();
    `);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP VIEW new_pools; DROP FUNCTION create_pool');
  }
}

import type { ReadableRow } from '#platform/errors/readable';
import { statement } from '#platform/postgres/statement';
import { isCompounding } from '#ledger/chain/chain.sql';

/**
 * Sets what the owner wants, and says what his wallet has said on the chain. Nothing is written if it is so already.
 * Data is null for anyone else. No row: the pool does not exist.
 */
export const SET_AUTO_COMPOUND = statement<
  { pool: string; caller: string; autoCompound: boolean },
  ReadableRow
>(
  'set_auto_compound',
  { pool: 'uuid', caller: 'text', autoCompound: 'boolean' },
  `
    WITH changed AS (
      UPDATE pools SET auto_compound = :autoCompound, last_update = now()
      WHERE id = :pool AND auto_compound <> :autoCompound
        AND EXISTS (SELECT FROM pool_members m WHERE m.pool_id = :pool AND m.address = :caller AND m.role = 'OWNER')
    )
    SELECT CASE WHEN m.address IS NOT NULL THEN json_build_object('id', p.id, 'autoCompound', :autoCompound,
      'compounding', ${isCompounding('p.id', ':caller')})::text END AS data
    FROM pools p LEFT JOIN pool_members m ON m.pool_id = p.id AND m.address = :caller AND m.role = 'OWNER'
    WHERE p.id = :pool`,
  { chargedTo: 'caller' },
);

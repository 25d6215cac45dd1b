import { Controller, Get, Query } from '@nestjs/common';
import { ApiProperty, ApiTags } from '@nestjs/swagger';
import type { Address } from 'viem';
import { type Page, PageQuery, pageOf } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { ApiData } from '#platform/openapi/api-docs';
import { statement } from '#platform/postgres/statement';
import { ApiAddress, ApiAmount, ApiId } from '#platform/openapi/fields';
import { KNOWN_CHAIN } from '#ledger/chain/chain.sql';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { ContractCall } from './calls.dto';
import { calls, chainIdOf, withdraw } from './contract-calls';

/** What an account still has in a contract under an id that no pool of the contract has. */
interface StrayDeposit {
  contract: string;
  poolId: string;
  amount: string;
  /** Whether the contract has this call: those of others and of circles have calls of their own. */
  isReference: boolean;
}

const MOVED = `CASE e.kind WHEN 'Deposited' THEN e.amount WHEN 'Withdrawn' THEN -e.amount END`;

/**
 * All of the caller's, by contract and id. The events are those that the indexer sets aside: of ids that are of no pool,
 * and of a pool that belongs to another contract. Always one row.
 */
export const LIST_STRAY_DEPOSITS = statement<
  { caller: string; limit: number; offset: number },
  { total: number; chainId: string | null; data: StrayDeposit[] }
>(
  'list_stray_deposits',
  { caller: 'text', limit: 'bigint', offset: 'bigint' },
  `
    WITH stray AS MATERIALIZED (
      SELECT e.contract, e.pool_id, sum(${MOVED}) AS amount
      FROM chain_events e
      WHERE e.account = :caller AND e.outcome IN ('UNKNOWN_POOL', 'REFUSED') AND e.kind IN ('Deposited', 'Withdrawn')
        AND (e.outcome = 'UNKNOWN_POOL'
          OR NOT EXISTS (SELECT FROM pools p WHERE p.id = e.pool_id AND p.contract_address = e.contract))
      GROUP BY 1, 2 HAVING sum(${MOVED}) > 0
    )
    SELECT (SELECT count(*)::int FROM stray) AS total, (SELECT chain."chainId" FROM ${KNOWN_CHAIN} chain) AS "chainId",
      coalesce(json_agg(json_build_object('contract', s.contract, 'poolId', s.pool_id, 'amount', s.amount::text,
        'isReference', NOT EXISTS (SELECT FROM chain_contracts k
          WHERE k.address = s.contract AND (k.calls IS NOT NULL OR k.pools_by <> 'reference' OR k.circles)))), '[]')
        AS data
    FROM (SELECT * FROM stray ORDER BY contract, pool_id LIMIT :limit OFFSET :offset) s`,
  { chargedTo: 'caller' },
);

export class StrayDepositItem {
  @ApiAddress('Contract that holds the money') contract: string;
  @ApiId('Id that the deposit named, of which the contract has no pool') poolId: string;
  @ApiAmount('Withdrawable amount, in smallest token units') amount: string;
  @ApiProperty({ type: [ContractCall], description: 'Calls that withdraw all of it; empty if unknown' })
  calls: ContractCall[];
}

@Controller('users/me/stray-deposits')
@ApiTags('Calls')
export class StrayDepositsController {
  constructor(private readonly database: Database) {}

  @Get()
  @ApiData(StrayDepositItem, {
    summary: 'List unassigned deposits',
    description:
      'Returns deposits of the caller for ids of which the contract has no pool, each with the call that withdraws it. They are in no balance and still belong to the payer.',
    list: true,
    errors: [400, 401, 'chain_unknown'],
  })
  async list(
    @CurrentUser() { address }: AuthenticatedUser,
    @Query() query: PageQuery,
  ): Promise<Page<StrayDepositItem>> {
    const { page, limit } = query;
    const row = await this.database.read(LIST_STRAY_DEPOSITS, {
      caller: address,
      limit,
      offset: (page - 1) * limit,
    });
    const { data, total, chainId } = row!;
    const items = data.map(({ contract, poolId, amount, isReference }): StrayDepositItem => {
      const call = isReference ? [withdraw(contract as Address, poolId, BigInt(amount))] : [];
      return { contract, poolId, amount, ...calls(chainIdOf({ chainId }), ...call) };
    });
    return pageOf(items, total, query);
  }
}

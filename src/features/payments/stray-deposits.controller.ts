import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Address } from 'viem';
import { type Page, pageOf } from '#platform/answers/pagination';
import { Database } from '#platform/database/database';
import { ApiData } from '#platform/openapi/api-docs';
import { AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { withdraw } from './contract-calls';
import { calls, chainIdOf } from './on-chain';
import { ListStrayDepositsQuery, StrayDepositItem } from './stray-deposits.dto';
import { LIST_STRAY_DEPOSITS } from './stray-deposits.sql';

@Controller('users/me/stray-deposits')
@ApiTags('Calls')
export class StrayDepositsController {
  constructor(private readonly database: Database) {}

  @Get()
  @ApiData(StrayDepositItem, {
    summary: 'What the caller paid in for no pool',
    description:
      'The contracts take deposits for any id. What was paid in for an id that no pool of the contract has is in no balance of the service, and still belongs to whoever paid it: here it is, with the call that withdraws it.',
    list: true,
    errors: [400, 401, 'chain_unknown'],
  })
  async list(
    @CurrentUser() { address }: AuthenticatedUser,
    @Query() query: ListStrayDepositsQuery,
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

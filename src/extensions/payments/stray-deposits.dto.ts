import { ApiProperty } from '@nestjs/swagger';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';
import { ContractCall } from './calls.dto';

export class StrayDepositItem {
  @ApiProperty({ pattern: STORED_ADDRESS, description: 'The contract that has the money' })
  contract: string;
  @ApiProperty({
    format: 'uuid',
    description: 'The id that it was paid in for: no pool of the contract has it',
  })
  poolId: string;
  @ApiProperty({ pattern: AMOUNT, description: 'What can be withdrawn, in smallest token units' })
  amount: string;
  @ApiProperty({
    type: [ContractCall],
    description:
      'What a wallet sends to withdraw all of it; none at a contract that is not like the reference contracts',
  })
  calls: ContractCall[];
}

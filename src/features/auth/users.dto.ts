import { ApiProperty } from '@nestjs/swagger';
import { AMOUNT, STORED_ADDRESS } from '#values/rules';

export class MeResponse {
  @ApiProperty({ format: 'uuid' }) id: string;
  @ApiProperty({ pattern: STORED_ADDRESS }) address: string;
  @ApiProperty({ type: 'integer', description: 'Pools that the user owns' }) poolCount: number;
  @ApiProperty({ pattern: AMOUNT, description: 'Sum of the deposits made by the user, pending included' })
  totalDeposits: string;
  @ApiProperty({ format: 'date-time' }) createdAt: string;
}

export class Profile extends MeResponse {
  @ApiProperty({ format: 'date-time', description: 'Expiry of the token, unless the session ends earlier' })
  tokenExpiresAt: string;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Chain of the signed message; null for a token without one',
    example: 1,
  })
  chainId: number | null;
}

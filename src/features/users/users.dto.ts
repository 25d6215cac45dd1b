import { ApiProperty } from '@nestjs/swagger';

export class MeResponse {
  @ApiProperty({ format: 'uuid' }) id: string;
  @ApiProperty({ pattern: '^0x[0-9a-f]{40}$' }) address: string;
  @ApiProperty({ type: 'integer', description: 'Pools that the user owns' }) poolCount: number;
  @ApiProperty({ pattern: '^\\d+$', description: 'Sum of the deposits made by the user, pending included' })
  totalDeposits: string;
  @ApiProperty({ format: 'date-time' }) createdAt: string;
}

export class Profile extends MeResponse {
  @ApiProperty({ format: 'date-time', description: 'Unless the session is ended before' })
  tokenExpiresAt: string;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'The chain that the signed message named; null for a token without one',
    example: 1,
  })
  chainId: number | null;
}

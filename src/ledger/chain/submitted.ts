import { ApiProperty } from '@nestjs/swagger';

export class Submitted {
  @ApiProperty({ pattern: '^0x[0-9a-f]{64}$' }) hash: string;
  @ApiProperty({ format: 'date-time' }) at: string;
}

export const ApiSubmitted = (): PropertyDecorator =>
  ApiProperty({
    type: Submitted,
    nullable: true,
    description:
      'The payment that was told for it, while it is pending: its hash, and since when. null once it is on the chain, failed or was replaced. Nothing but the chain says that it was paid',
  });

import { ApiProperty } from '@nestjs/swagger';
import { ApiTime } from '#platform/openapi/fields';

export class Submitted {
  @ApiProperty({ pattern: '^0x[0-9a-f]{64}$' }) hash: string;
  @ApiTime() at: string;
}

export const ApiSubmitted = (): PropertyDecorator =>
  ApiProperty({
    type: Submitted,
    nullable: true,
    description:
      'Submitted payment of a pending deposit: its hash, and since when. null once it is on the chain, failed or was replaced. Only the chain confirms a payment',
  });

import { ApiProperty } from '@nestjs/swagger';
import { CursorCodec } from '#platform/answers/cursor';
import { IsAfter, IsLimit } from '#platform/answers/pagination';
import { ApiAddress } from '#platform/openapi/fields';
import { SECTIONS } from './export.sql';

/** Positions: the kind of the last row, and its key. */
export const EXPORT_CURSOR = new CursorCodec(
  'export',
  new RegExp(`^(?:${SECTIONS.map(({ kind, form }) => `${kind} ${form}`).join('|')})$`),
);

const MOST_ROWS = 500;

export class ExportQuery {
  @IsLimit(MOST_ROWS, MOST_ROWS)
  limit: number = MOST_ROWS;

  @IsAfter(EXPORT_CURSOR)
  after?: string;
}

export class ExportedRow {
  @ApiProperty({
    enum: SECTIONS.map(({ kind }) => kind),
    description: 'Kind of the row',
    example: 'position',
  })
  kind: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'Row as stored; amounts are texts. Later versions can add fields',
    example: { poolId: '018f2f63-7d0e-7c9a-a5b1-2f1a6f3c9b10', balance: '25000000000000000000' },
  })
  data: Record<string, unknown>;
}

export class DeletedAccount {
  @ApiAddress() address: string;

  @ApiProperty({
    example: true,
    description:
      'Whether the address stays as the owner of paid pools, or of cancelled ones that a late payment would restore',
  })
  stays: boolean;
}

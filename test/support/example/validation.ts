import { Controller, Get, Injectable, Query } from '@nestjs/common';
import { Validate, ValidatorConstraint, type ValidatorConstraintInterface } from 'class-validator';
import { Database } from '#platform/database/database';
import { statement } from '#platform/postgres/statement';
import { Public } from '#features/access/auth.guard';

const TAKEN = statement<{ name: string }, { taken: boolean }>(
  'example_taken',
  { name: 'text' },
  'SELECT exists(SELECT FROM users WHERE address = :name) AS taken',
);

/** Looks something up, by a service that it is given. */
@ValidatorConstraint({ name: 'isFree', async: true })
@Injectable()
export class IsFree implements ValidatorConstraintInterface {
  constructor(private readonly database: Database) {}

  async validate(name: string): Promise<boolean> {
    const row = await this.database.read(TAKEN, { name });
    return row?.taken === false;
  }

  defaultMessage(): string {
    return 'is taken';
  }
}

class ReserveQuery {
  @Validate(IsFree)
  name: string;
}

@Controller('example/validation')
@Public()
export class ValidationController {
  @Get('reserve')
  reserve(@Query() query: ReserveQuery): ReserveQuery {
    return query;
  }
}

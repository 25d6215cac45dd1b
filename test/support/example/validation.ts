import { Body, Controller, Get, Injectable, Param, Post, Put, Query, ValidationPipe } from '@nestjs/common';
import { Type } from 'class-transformer';
import {
  IsArray,
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Min,
  Validate,
  ValidateIf,
  ValidateNested,
  ValidatorConstraint,
  type ValidatorConstraintInterface,
} from 'class-validator';
import { Database } from '#platform/database/database';
import { statement } from '#platform/postgres/statement';
import { Public } from '#features/access/auth.guard';

class Lot {
  @IsInt()
  @Min(1)
  size: number;
}

class Line {
  @IsString()
  sku: string;

  @IsOptional()
  @IsInt()
  count: number = 1;

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => Lot)
  lots?: Lot[];
}

class OrderRequest {
  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => Line)
  lines: Line[];

  @IsOptional()
  @ValidateNested()
  @Type(() => Lot)
  lot?: Lot;

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => Lot)
  byName?: Map<string, Lot>;
}

class Profile {
  /** null takes the name away; absent leaves it. */
  @IsOptional()
  @IsString()
  nickname?: string | null;

  @ValidateIf((_, value) => value !== null)
  @IsString()
  title: string | null;

  /** null is as absent, as there is a default. */
  @IsOptional()
  @IsIn(['en', 'de'])
  language: string = 'en';
}

class Preferences {
  @IsOptional()
  @IsIn(['en', 'de'])
  language: string = 'en';
}

class Undecorated {
  any: unknown;
}

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

class TagsQuery {
  @IsOptional()
  @IsString({ each: true })
  tags?: string[];
}

class Parent {
  @IsOptional()
  @IsString()
  name?: string;
}

class Child extends Parent {
  @IsOptional()
  @IsString()
  other?: string;
}

class Registration {
  @Length(3, 20, { groups: ['create'] })
  name: string;

  @IsInt({ groups: ['update'] })
  version: number;
}

const CREATE = new ValidationPipe({ expectedType: Registration, groups: ['create'], transform: true });

@Controller('example/validation')
@Public()
export class ValidationController {
  @Post('orders')
  order(@Body() order: OrderRequest): unknown {
    return { order, isLine: order.lines.every((line) => line instanceof Line) };
  }

  @Put('profile')
  profile(@Body() profile: Profile): Profile {
    return profile;
  }

  @Post('part')
  part(@Body('part') part?: Preferences): unknown {
    return { nickname: null, ...part };
  }

  @Post('undecorated')
  undecorated(@Body() body: Undecorated): unknown {
    return body;
  }

  @Get('numbers/:id')
  numbers(@Param('id') id: number, @Query('n') n?: number, @Query('yes') yes?: boolean): unknown {
    return { id, n, yes, types: [typeof id, typeof n, typeof yes] };
  }

  @Get('reserve')
  reserve(@Query() query: ReserveQuery): ReserveQuery {
    return query;
  }

  /** Changes what it is given, which must be its own. */
  @Get('tags')
  tags(@Query() query: TagsQuery): TagsQuery {
    query.tags?.push('added');
    return query;
  }

  @Get('child')
  child(@Query() query: Child): unknown {
    query.name += '!';
    return { ...query, isChild: query instanceof Child };
  }

  @Post('groups')
  groups(@Body(CREATE) body: Readonly<Registration>): unknown {
    return body;
  }
}

import { Controller, Get, Query } from '@nestjs/common';
import { Public } from '../auth/auth.guard';
import { ApiData } from '../openapi/api-docs';
import type { JsonText } from '../common/json-text';
import type { Page } from '../common/pagination';
import { CurrentDraw, ListWinnersQuery, Winner } from './lottery.dto';
import { LotteryService } from './lottery.service';

@Controller('lottery')
@Public('LOTTERY_PUBLIC')
export class LotteryController {
  constructor(private readonly lottery: LotteryService) {}

  @Get('current')
  @ApiData(CurrentDraw, { errors: [401, 404] })
  current(): Promise<JsonText<CurrentDraw>> {
    return this.lottery.current();
  }

  @Get('winners')
  @ApiData(Winner, { list: true, errors: [400, 401] })
  winners(@Query() query: ListWinnersQuery): Promise<Page<Winner>> {
    return this.lottery.winners(query);
  }
}

import {
  Body,
  ClassSerializerInterceptor,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Module,
  Param,
  Post,
  Query,
  Req,
  UseGuards,
  UseInterceptors,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JwtModule } from '@nestjs/jwt';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { TypeOrmModule } from '@nestjs/typeorm';
import { plainToInstance } from 'class-transformer';
import { ExtractJwt, Strategy } from 'passport-jwt';
import {
  CreatePool,
  CurrentDraw,
  NonceRequest,
  PageQuery,
  PoolDetail,
  PoolItem,
  TransactionDetail,
  TransactionItem,
  Winner,
  WinnersQuery,
} from './stock.dto';
import { LotteryDraw, Nonce, Pool, PoolMember, Transaction, User } from './stock.entities';
import { type Caller, StockService } from './stock.service';

/**
 * What a team has that follows the documentation of NestJS and TypeORM, on Fastify as the service is. Totals are not
 * kept, so it works on the copy of the tables without triggers.
 */
const { JWT_SECRET: secret, PLAIN_URL: url } = process.env as Record<string, string>;

@Injectable()
class JwtStrategy extends PassportStrategy(Strategy) {
  constructor() {
    super({ jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(), secretOrKey: secret });
  }

  validate({ userId, address }: Caller): Caller {
    return { userId, address };
  }
}

type Authenticated = { user: Caller };
const answer = (data: unknown): object => ({ success: true, data });
const list = (data: unknown[], total: number, { page, limit }: PageQuery): object => ({
  success: true,
  data,
  pagination: { page, limit, total, pages: Math.ceil(total / limit) },
});

@Controller()
@UseGuards(AuthGuard('jwt'))
@UseInterceptors(ClassSerializerInterceptor)
class StockController {
  constructor(private readonly stock: StockService) {}

  @Get('pools')
  async pools(@Req() { user }: Authenticated, @Query() query: PageQuery): Promise<object> {
    const [pools, total] = await this.stock.listPools(user, query);
    return list(plainToInstance(PoolItem, pools), total, query);
  }

  @Post('pools')
  async create(@Req() { user }: Authenticated, @Body() request: CreatePool): Promise<object> {
    const { pool, depositId } = await this.stock.create(user, request);
    const { id, type, contractAddress, balance, createdAt } = pool;
    return answer({ id, type, contractAddress, balance, createdAt: createdAt.toISOString(), depositId });
  }

  @Get('pools/:id')
  async pool(@Req() { user }: Authenticated, @Param('id') id: string): Promise<object> {
    return answer(plainToInstance(PoolDetail, await this.stock.pool(user, id)));
  }

  @Get('pools/:id/yield')
  async yieldReport(@Req() { user }: Authenticated, @Param('id') id: string): Promise<object> {
    const { totalYield, claimedYield, aprBps, lastClaimedAt } = await this.stock.pool(user, id);
    return answer({
      totalYield,
      claimableYield: (BigInt(totalYield) - BigInt(claimedYield)).toString(),
      apr: aprBps / 100,
      apy: Math.round(((1 + aprBps / 3_650_000) ** 365 - 1) * 10_000) / 100,
      lastClaimed: lastClaimedAt?.toISOString() ?? null,
    });
  }

  @Get('transactions')
  async transactions(@Req() { user }: Authenticated, @Query() query: PageQuery): Promise<object> {
    const [found, total] = await this.stock.listTransactions(user, query);
    return list(plainToInstance(TransactionItem, found), total, query);
  }

  @Get('transactions/:hash')
  async transaction(@Req() { user }: Authenticated, @Param('hash') hash: string): Promise<object> {
    return answer(plainToInstance(TransactionDetail, await this.stock.transaction(user, hash)));
  }

  @Get('analytics/pools')
  async poolAnalytics(): Promise<object> {
    return answer(await this.stock.poolAnalytics());
  }

  @Get('analytics/user')
  async userAnalytics(@Req() { user }: Authenticated): Promise<object> {
    return answer(await this.stock.userAnalytics(user));
  }

  @Get('auth/me')
  async me(@Req() { user }: Authenticated): Promise<object> {
    return answer(await this.stock.me(user));
  }

  @Get('lottery/current')
  async current(): Promise<object> {
    return answer(plainToInstance(CurrentDraw, await this.stock.currentDraw()));
  }

  @Get('lottery/winners')
  async winners(@Query() query: WinnersQuery): Promise<object> {
    const [draws, total] = await this.stock.winners(query);
    return list(plainToInstance(Winner, draws), total, query);
  }
}

@Controller('auth')
class SignInController {
  constructor(private readonly stock: StockService) {}

  @Post('nonce')
  @HttpCode(200)
  async nonce(@Body() { address }: NonceRequest): Promise<object> {
    const nonce = await this.stock.nonce(address);
    return { success: true, data: { nonce }, nonce };
  }

  @Post('verify')
  @HttpCode(200)
  async verify(@Body() body: { message: string; signature: string }): Promise<object> {
    const data = await this.stock.signIn(body.message, body.signature);
    return { success: true, data, ...data };
  }
}

const entities = [User, Nonce, Pool, PoolMember, Transaction, LotteryDraw];

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url, poolSize: 20, entities, installExtensions: false }),
    TypeOrmModule.forFeature(entities),
    PassportModule,
    JwtModule.register({ secret, signOptions: { expiresIn: '7d' } }),
  ],
  controllers: [StockController, SignInController],
  providers: [StockService, JwtStrategy],
})
class StockModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create<NestFastifyApplication>(StockModule, new FastifyAdapter());
  app.useGlobalPipes(new ValidationPipe({ transform: true }));
  await app.listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1');
  const stop = (): void => process.exit(0);
  process.on('SIGTERM', stop).on('disconnect', stop);
  process.send?.('listening');
}

main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});

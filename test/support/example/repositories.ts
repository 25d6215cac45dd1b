import { Body, Controller, Get, Injectable, Module, Param, Post } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Length } from 'class-validator';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { type AuthenticatedUser, CurrentUser } from '#features/access/current-user';
import { User } from '#features/access/user.entity';
import { AccessModule } from '#features/access/access.module';
import { LotteryDraw } from '#features/lottery/lottery-draw.entity';
import { LotteryModule } from '#features/lottery/lottery.module';
import { Pool } from '#features/pools/pool.entity';
import { PoolsModule } from '#features/pools/pools.module';
import { PoolsService } from '#features/pools/pools.service';
import { Transaction } from '#features/pools/transaction.entity';
import { TransactionsModule } from '#features/transactions/transactions.module';
import { Note } from './note.entity';

class NewNote {
  @Length(1, 100)
  text: string;
}

/** Entities of every feature, by importing its module. */
@Injectable()
export class Census {
  constructor(
    @InjectRepository(Pool) readonly pools: Repository<Pool>,
    @InjectRepository(Transaction) readonly transactions: Repository<Transaction>,
    @InjectRepository(User) readonly users: Repository<User>,
    @InjectRepository(LotteryDraw) readonly draws: Repository<LotteryDraw>,
  ) {}

  async counts(): Promise<Record<string, number>> {
    const { pools, transactions, users, draws } = this;
    const entries = Object.entries({ pools, transactions, users, draws }).map(
      async ([name, repository]) => [name, await repository.count()] as const,
    );
    return Object.fromEntries(await Promise.all(entries));
  }
}

/** An entity of its own, beside one of another module and that module's service. */
@Injectable()
class NotesService {
  constructor(
    @InjectRepository(Note) private readonly notes: Repository<Note>,
    @InjectRepository(Pool) private readonly pools: Repository<Pool>,
    private readonly service: PoolsService,
  ) {}

  async add(caller: AuthenticatedUser, id: string, text: string): Promise<Note> {
    // Throws as GET /pools/:id would.
    await this.service.detail(caller, id);
    const pool = await this.pools.findOneByOrFail({ id });
    return this.notes.save({ id: uuidv7(), text, pool });
  }

  list(id: string): Promise<Note[]> {
    return this.notes.find({ where: { pool: { id } }, relations: { pool: { owner: true } } });
  }
}

@Controller('example/repositories')
export class RepositoriesController {
  constructor(
    private readonly census: Census,
    private readonly notes: NotesService,
  ) {}

  @Get('census')
  counts(): Promise<Record<string, number>> {
    return this.census.counts();
  }

  @Post('pools/:id/notes')
  add(@CurrentUser() user: AuthenticatedUser, @Param('id') id: string, @Body() note: NewNote): Promise<Note> {
    return this.notes.add(user, id, note.text);
  }

  @Get('pools/:id/notes')
  list(@Param('id') id: string): Promise<Note[]> {
    return this.notes.list(id);
  }
}

@Module({
  imports: [AccessModule, PoolsModule, TransactionsModule, LotteryModule, TypeOrmModule.forFeature([Note])],
  controllers: [RepositoriesController],
  providers: [Census, NotesService],
})
export class RepositoriesModule {}

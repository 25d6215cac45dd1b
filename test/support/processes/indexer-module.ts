import {
  type BeforeApplicationShutdown,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { InjectMetric, makeCounterProvider } from '@willsoto/nestjs-prometheus';
import { Counter } from 'prom-client';
import { Repository } from 'typeorm';
import { Database } from '#platform/database/database';
import { DatabaseModule } from '#platform/database/database.module';
import { statement } from '#platform/postgres/statement';
import { Pool } from '#features/pools/pool.entity';

const NAME = statement<Record<string, never>, { name: string }>(
  'application_name',
  {},
  `SELECT current_setting('application_name') AS name`,
);

/** As the documentation of NestJS writes a service, in a module that is added to the indexer. */
@Injectable()
export class Watcher
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  /** What was called, and what was so then. */
  readonly seen: string[] = [];
  /** Gets each line of `seen`. */
  tell: (line: string) => unknown = () => undefined;

  constructor(
    @InjectRepository(Pool) private readonly pools: Repository<Pool>,
    private readonly database: Database,
    @InjectMetric('watched_total') private readonly watched: Counter,
  ) {}

  async onModuleInit(): Promise<void> {
    this.watched.inc(7);
    await this.note('onModuleInit');
  }
  onApplicationBootstrap(): Promise<void> {
    return this.note('onApplicationBootstrap');
  }
  beforeApplicationShutdown(): Promise<void> {
    return this.note('beforeApplicationShutdown');
  }
  onApplicationShutdown(): Promise<void> {
    return this.note('onApplicationShutdown');
  }

  /** The names under which repositories and statements write. */
  async names(): Promise<unknown[]> {
    const [row] = await this.pools.query<{ name: string }[]>(NAME.text);
    return [row.name, (await this.database.read(NAME, {}))?.name];
  }

  /** With whether an indexer holds the leader's lock: it follows the chain. */
  private async note(hook: string): Promise<void> {
    const [{ held }] = await this.pools.query<{ held: boolean }[]>(
      `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database
       WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.granted AND l.objid = 4361001) AS held`,
    );
    this.seen.push(`${hook} ${held ? 'leading' : 'not leading'}`);
    this.tell(this.seen.at(-1)!);
  }
}

@Module({
  imports: [DatabaseModule.register('indexer'), TypeOrmModule.forFeature([Pool])],
  providers: [Watcher, makeCounterProvider({ name: 'watched_total', help: 'What the module watched' })],
})
export class WatcherModule {}

import { Module } from '@nestjs/common';
import { AnswersController, InterceptedController } from './answers';
import { EventsModule } from './events';
import { LimitsModule } from './limits';
import { RepositoriesModule } from './repositories';
import { RestModule } from './rest';
import { IsFree, ValidationController } from './validation';

/** Uses the idioms of NestJS as a module of another team would. Each has its test in test/idioms/idioms.e2e-spec.ts. */
@Module({
  imports: [EventsModule, LimitsModule, RepositoriesModule, RestModule],
  controllers: [AnswersController, InterceptedController, ValidationController],
  providers: [IsFree],
})
export class ExampleModule {}

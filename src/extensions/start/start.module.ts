import { Module } from '@nestjs/common';
import { StartController } from './start.controller';

/** Joins what other features answer a caller. None of them depends on it. */
@Module({ controllers: [StartController] })
export class StartModule {}

import { Module } from '@nestjs/common';
import { AccountSavings } from './account-savings';
import { Clubs } from './clubs';
import { Kitty } from './kitty';

/** Contracts that are not ours, each of which names pools in another way: for `npm start`, the tests, and to begin with. */
@Module({ providers: [AccountSavings, Clubs, Kitty] })
export class ExamplesModule {}

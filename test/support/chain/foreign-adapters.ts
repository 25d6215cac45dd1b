import { Module } from '@nestjs/common';
import { AccountSavings, abi } from '#ledger/adapters/examples/account-savings';
import { PoolContract } from '#ledger/adapters/pool-contract';

/** Savings of which nobody has told the calls. */
@PoolContract({ name: 'untold', types: ['individual'], abi, poolsBy: 'account' })
export class UntoldSavings extends AccountSavings {}

@Module({ providers: [UntoldSavings] })
export class UntoldModule {}

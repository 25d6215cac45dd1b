import { Global, Module } from '@nestjs/common';
import { PublicClient, createPublicClient, http } from 'viem';
import { Environment } from '../config/environment';

export const CHAIN_CLIENT = Symbol('CHAIN_CLIENT');

/** Provides a viem client for RPC_URL, or undefined when no chain is configured. */
@Global()
@Module({
  providers: [
    {
      provide: CHAIN_CLIENT,
      inject: [Environment],
      useFactory: ({ RPC_URL }: Environment): PublicClient | undefined =>
        RPC_URL
          ? createPublicClient({ transport: http(RPC_URL, { timeout: 3000, retryCount: 1 }) })
          : undefined,
    },
  ],
  exports: [CHAIN_CLIENT],
})
export class ChainModule {}

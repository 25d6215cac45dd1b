import { Global, Module } from '@nestjs/common';
import { Environment } from '#platform/config/environment';
import { ChainRpc } from './chain-rpc';
import { rpcEndpoints } from './endpoints';

/** Provides a client for RPC_URL, or undefined when no chain is configured. */
@Global()
@Module({
  providers: [
    {
      provide: ChainRpc,
      inject: [Environment],
      useFactory: ({ RPC_URL }: Environment): ChainRpc | undefined =>
        RPC_URL ? new ChainRpc(rpcEndpoints(RPC_URL)) : undefined,
    },
  ],
  exports: [ChainRpc],
})
export class ChainModule {}

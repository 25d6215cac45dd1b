import { Global, Module } from '@nestjs/common';
import { ChainSettings } from './chain.settings';
import { ChainRpc } from './chain-rpc';
import { rpcEndpoints } from './endpoints';

/** Provides a client for RPC_URL, or undefined when no chain is configured. */
@Global()
@Module({
  providers: [
    {
      provide: ChainRpc,
      inject: [ChainSettings],
      useFactory: ({ RPC_URL }: ChainSettings): ChainRpc | undefined =>
        RPC_URL ? new ChainRpc(rpcEndpoints(RPC_URL)) : undefined,
    },
  ],
  exports: [ChainRpc],
})
export class ChainModule {}

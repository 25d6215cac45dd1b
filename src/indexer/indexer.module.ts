import { type DynamicModule, Module, type ModuleMetadata } from '@nestjs/common';
import { APP_FILTER, DiscoveryModule } from '@nestjs/core';
import { SettingsModule } from '#platform/config/settings.module';
import { ErrorFilter } from '#platform/errors/error.filter';
import { ExamplesModule } from '#ledger/adapters/examples/examples.module';
import { ReferenceModule } from '#ledger/adapters/reference/reference-pool';
import { VaultsModule } from '#ledger/adapters/vaults/vault';
import { AREAS, type Environment } from '#settings/environment';
import { IndexerSettings } from '#settings/indexer.settings';
import { ContractAdapters } from '#indexer/adapters/contract-adapters';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { SequenceCheck } from '#indexer/agreement/sequence-check';
import { Background } from '#indexer/background/background';
import { Contracts } from '#indexer/contracts/contracts';
import { Follower } from '#indexer/leading/follower';
import { Indexer } from '#indexer/leading/indexer.service';
import { LeadConnection } from '#indexer/leading/leader';
import { Preflight } from '#indexer/leading/preflight';
import { Recovery } from '#indexer/leading/recovery';
import { Rewind } from '#indexer/leading/rewind';
import { PriceWatch } from '#indexer/background/price-watch';
import { BlockProof } from '#indexer/proving/block-proof';
import { ReceiptWatch } from '#indexer/background/receipt-watch';
import { IndexerController } from '#indexer/reporting/indexer.controller';
import { SyncState } from '#indexer/reporting/sync-state';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { SubmissionWatch } from '#indexer/background/submission-watch';
import { BackgroundVerification } from './verification';

export type IndexerImports = NonNullable<ModuleMetadata['imports']>;

/** The adapters of the contracts that the service can follow, and what finds them. */
const ADAPTERS = [DiscoveryModule, ExamplesModule, ReferenceModule, VaultsModule];

/** What following the chain and rewinding by hand share. Nothing of it runs by itself. */
const PARTS = [
  {
    provide: SyncState,
    inject: [IndexerSettings],
    useFactory: ({ MAX_HEAD_AGE }: IndexerSettings) => new SyncState(MAX_HEAD_AGE),
  },
  IndexerTelemetry,
  ContractAdapters,
  RpcEndpoints,
  {
    provide: SequenceCheck,
    inject: [RpcEndpoints, IndexerSettings, ContractAdapters],
    useFactory: ({ contracts }: RpcEndpoints, { START_BLOCK }: IndexerSettings, adapters: ContractAdapters) =>
      new SequenceCheck(contracts, START_BLOCK, (contract) => adapters.of(contract)?.isNumbered ?? true),
  },
  Recovery,
  LeadConnection,
];

/** For the command `rewind`. */
@Module({})
export class RewindModule {
  /** @param modules beside those of the service: the adapters of its contracts */
  static register(environment: Environment, modules: IndexerImports = []): DynamicModule {
    return {
      module: RewindModule,
      imports: [SettingsModule.register(AREAS, environment), ...ADAPTERS, ...modules],
      providers: [...PARTS, Rewind],
    };
  }
}

/** The indexer as a process. It starts to follow the chain when the application has started. */
@Module({})
export class IndexerModule {
  /** @param modules beside those of the service */
  static register(environment: Environment, modules: IndexerImports = []): DynamicModule {
    return {
      module: IndexerModule,
      imports: [SettingsModule.register(AREAS, environment), ...ADAPTERS, ...modules],
      controllers: [IndexerController],
      providers: [
        ...PARTS,
        Preflight,
        BlockProof,
        Contracts,
        Follower,
        Indexer,
        BackgroundVerification,
        SubmissionWatch,
        ReceiptWatch,
        PriceWatch,
        Background,
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    };
  }
}

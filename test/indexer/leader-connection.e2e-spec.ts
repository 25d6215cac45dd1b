import { Client } from 'pg';
import type { PostgresSettings } from '#platform/postgres/postgres.settings';
import type { IndexerSettings } from '#settings/indexer.settings';
import { LeadConnection, connect } from '#indexer/leading/leader';
import { SyncState } from '#indexer/reporting/sync-state';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { until } from '../support/app';
import { emptyDatabase, freshDatabase, urlAs } from '../support/database';

it("a leader's connection that lacks its settings is refused, and closed", async () => {
  const database = await emptyDatabase();
  const admin = new Client({ connectionString: database.url, application_name: 'admin' });
  try {
    await admin.connect();
    const url = new URL(database.url);
    // These replace those that the indexer sends, as a pooler that ignores them would.
    url.searchParams.set('options', '-c jit=on');
    await expect(connect(url.href)).rejects.toThrow('jit is on, not off');
    const others = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'indexer'`;
    await until(async () => (await admin.query(others)).rowCount === 0);
  } finally {
    await admin.end();
    await database.drop();
  }
});

it('a process no longer counts as the leader once its connection has ended', async () => {
  const database = await freshDatabase();
  try {
    const telemetry = new IndexerTelemetry(new SyncState(undefined));
    const leader = (): Promise<string> => telemetry.registry.getSingleMetricAsString('indexer_leader');
    const postgres = { DATABASE_URL: urlAs(database.url, 'indexer') } as PostgresSettings;
    const settings = { POOL_CONTRACTS: new Map() } as unknown as IndexerSettings;
    await new LeadConnection(postgres, settings, telemetry).use(async () => {
      telemetry.role = 'leading';
      expect(await leader()).toMatch(/^indexer_leader 1$/m);
    });
    expect(await leader()).toMatch(/^indexer_leader 0$/m);
  } finally {
    await database.drop();
  }
});

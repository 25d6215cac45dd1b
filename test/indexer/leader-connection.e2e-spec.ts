import { Client } from 'pg';
import { connect } from '#indexer/leading/leader';
import { until } from '../support/app';
import { emptyDatabase } from '../support/database';

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

import yaml from 'js-yaml';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { verifyMetrics } from '#verify/continuous';
import { SyncState } from '#indexer/reporting/sync-state';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { KeeperTelemetry } from '#keeper/telemetry';
import { useApp } from '../support/app';

const MONITORING = path.join(__dirname, '../../deploy/monitoring');
const KEYWORDS = new Set(['and', 'or', 'unless', 'on', 'ignoring', 'bool', 'offset', 'inf', 'nan']);
/** Created by Prometheus itself, not scraped. */
const PROMETHEUS = new Set(['up', 'ALERTS']);
/** Of the blackbox exporter, and of cert-manager. */
const FOREIGN = new Set([
  'probe_ssl_earliest_cert_expiry',
  'certmanager_certificate_expiration_timestamp_seconds',
]);

/** Names of the metrics in a PromQL expression: identifiers that are neither functions, labels nor keywords. */
function metricsIn(expression: string): string[] {
  const bare = expression
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}/g, '')
    .replace(/\[[^\]]*\]/g, '')
    .replace(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, '');
  return [...bare.matchAll(/[a-zA-Z_:][a-zA-Z0-9_:]*(?!\w*\s*\()/g)]
    .map(([name]) => name)
    .filter((name) => !KEYWORDS.has(name.toLowerCase()) && !PROMETHEUS.has(name) && !FOREIGN.has(name));
}

/** Every value of `key` anywhere in a document. */
function collect(node: unknown, key: string): string[] {
  if (Array.isArray(node)) return node.flatMap((item) => collect(item, key));
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([name, value]) =>
    name === key && typeof value === 'string' ? [value] : collect(value, key),
  );
}

describe('metrics of dashboard and alerts', () => {
  const app = useApp();

  it('exist', async () => {
    const exposed = new Set<string>();
    const { registry } = new IndexerTelemetry(new SyncState(undefined));
    verifyMetrics(registry);
    const texts = [
      (await app.get('/metrics')).text,
      await registry.metrics(),
      await new KeeperTelemetry().registry.metrics(),
    ];
    for (const [, name, type] of texts.join('\n').matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      exposed.add(name);
      if (type === 'histogram' || type === 'summary')
        for (const part of ['bucket', 'sum', 'count']) exposed.add(`${name}_${part}`);
    }
    const rules = yaml.load(readFileSync(path.join(MONITORING, 'prometheus-rule.yaml'), 'utf8'));
    const dashboard: unknown = JSON.parse(readFileSync(path.join(MONITORING, 'dashboard.json'), 'utf8'));
    for (const name of collect(rules, 'record')) exposed.add(name);
    const used = new Set([...collect(rules, 'expr'), ...collect(dashboard, 'expr')].flatMap(metricsIn));
    expect(used.size).toBeGreaterThan(15);
    expect([...used].filter((name) => !exposed.has(name))).toEqual([]);
  });
});

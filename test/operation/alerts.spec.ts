import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import yaml from 'js-yaml';
import { CASES } from './alert-cases';

interface Rule {
  alert?: string;
  labels?: { severity: string };
  annotations?: { runbook_url: string };
}
const ROOT = path.join(__dirname, '../..');
const MONITORING = path.join(ROOT, 'deploy/monitoring');
const { spec } = yaml.load(readFileSync(path.join(MONITORING, 'prometheus-rule.yaml'), 'utf8')) as {
  spec: { groups: { name: string; rules: Rule[] }[] };
};
const alerts = spec.groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert);
const names = alerts.map(({ alert }) => alert!).sort();

describe('alerts', () => {
  it('each have a runbook, and each runbook has an alert', () => {
    expect(new Set(names).size).toBe(names.length);
    expect(readdirSync(path.join(ROOT, 'docs/runbooks')).sort()).toEqual(names.map((name) => `${name}.md`));
    for (const { alert, annotations, labels } of alerts) {
      expect(annotations!.runbook_url.endsWith(`/${alert}.md`)).toBe(true);
      expect(['page', 'ticket']).toContain(labels!.severity);
      const text = readFileSync(path.join(ROOT, `docs/runbooks/${alert}.md`), 'utf8');
      for (const heading of [`# ${alert}`, '## Look here', '## Do this', '## It is over when'])
        expect(text).toContain(`${heading}\n`);
    }
  });

  it('each have a case in which they fire', () => {
    expect([...new Set(CASES.filter(({ fires }) => fires).map(({ alert }) => alert))].sort()).toEqual(names);
  });

  /** Debian's packages `prometheus` and `prometheus-alertmanager`, which CI installs. */
  const has = (tool: string): boolean => spawnSync(tool, ['--version']).error === undefined;

  (has('promtool') ? it : it.skip)(
    'fire when they should, and are silent when they should be',
    () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'alerts-'));
      try {
        writeFileSync(path.join(folder, 'all.yaml'), yaml.dump(spec));
        execFileSync('promtool', ['check', 'rules', 'all.yaml'], { cwd: folder, stdio: 'pipe' });
        // Each group alone, as every rule is evaluated at every step. Budgets go by hours, so theirs are longer.
        for (const group of spec.groups) {
          const cases = CASES.filter((each) => group.rules.some(({ alert }) => alert === each.alert));
          writeFileSync(path.join(folder, 'rules.yaml'), yaml.dump({ groups: [group] }));
          const tests = cases.map(({ alert, why, at, series, ...each }) => ({
            name: `${alert}: ${why}`,
            interval: '15s',
            input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
            promql_expr_test: [
              {
                expr: `count by (namespace) (ALERTS{alertname="${alert}", alertstate="firing", namespace="p"}) > bool 0`,
                eval_time: at,
                exp_samples: each.fires ? [{ labels: '{namespace="p"}', value: 1 }] : [],
              },
            ],
          }));
          const file = {
            rule_files: ['rules.yaml'],
            evaluation_interval: group.name === 'objectives' ? '1m' : '15s',
            tests,
          };
          writeFileSync(path.join(folder, 'test.yaml'), yaml.dump(file));
          const { stdout, stderr, status } = spawnSync('promtool', ['test', 'rules', 'test.yaml'], {
            cwd: folder,
            encoding: 'utf8',
          });
          expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' });
        }
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    120_000,
  );

  (has('amtool') ? it : it.skip)('have an example of routing that Alertmanager reads', () => {
    execFileSync('amtool', ['check-config', path.join(MONITORING, 'alertmanager.yaml')], { stdio: 'pipe' });
  });
});

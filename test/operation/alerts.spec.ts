import { readFileSync } from 'node:fs';
import path from 'node:path';
import yaml from 'js-yaml';
import { CASES } from './alert-cases';

interface Rule {
  alert?: string;
  labels?: { severity: string };
  annotations?: { runbook_url: string };
}
const ROOT = path.join(__dirname, '../..');
const { spec } = yaml.load(
  readFileSync(path.join(ROOT, 'deploy/monitoring/prometheus-rule.yaml'), 'utf8'),
) as {
  spec: { groups: { name: string; rules: Rule[] }[] };
};
const alerts = spec.groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert);
const names = alerts.map(({ alert }) => alert!).sort();

describe('alerts', () => {
  it('each have a runbook, and each runbook has an alert', () => {
    expect(new Set(names).size).toBe(names.length);
    const text = readFileSync(path.join(ROOT, 'docs/runbooks.md'), 'utf8');
    const runbooks = text.split(/^## /m).slice(1);
    const anchors = runbooks.map((each) => each.split('\n')[0].toLowerCase());
    for (const { alert, annotations, labels } of alerts) {
      expect(annotations!.runbook_url.endsWith(`/runbooks.md#${alert!.toLowerCase()}`)).toBe(true);
      expect(['page', 'ticket']).toContain(labels!.severity);
      const runbook = runbooks[anchors.indexOf(alert!.toLowerCase())];
      expect(runbook).toMatch(/\nOver when: |\nContinue as for \[/);
    }
    // Before them, the commands that several use.
    expect(runbooks).toHaveLength(alerts.length + 1);
  });

  it('each have a case in which they fire', () => {
    expect([...new Set(CASES.filter(({ fires }) => fires).map(({ alert }) => alert))].sort()).toEqual(names);
  });
});

import { readFileSync, readdirSync } from 'node:fs';
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
});

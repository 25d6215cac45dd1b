import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import yaml from 'js-yaml';
import { CASES } from './alert-cases';

/** Needs promtool and amtool: `test/config/deep.js` leaves this file out where they are missing. */

const MONITORING = path.join(__dirname, '../../deploy/monitoring');
const { spec } = yaml.load(readFileSync(path.join(MONITORING, 'prometheus-rule.yaml'), 'utf8')) as {
  spec: { groups: { name: string; rules: { alert?: string }[] }[] };
};
const folder = mkdtempSync(path.join(tmpdir(), 'alerts-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Of the rules of one group alone, since each rule is evaluated at each step. */
function testOf({ name, rules }: (typeof spec.groups)[number]): object {
  const cases = CASES.filter((each) => rules.some(({ alert }) => alert === each.alert));
  return {
    rule_files: ['rules.yaml'],
    // Budgets are counted in hours, so their cases are longer.
    evaluation_interval: name === 'objectives' ? '1m' : '15s',
    tests: cases.map(({ alert, why, at, series, fires }) => ({
      name: `${alert}: ${why}`,
      interval: '15s',
      input_series: series,
      promql_expr_test: [
        {
          expr: `count by (namespace) (ALERTS{alertname="${alert}", alertstate="firing", namespace="p"}) > bool 0`,
          eval_time: at,
          exp_samples: fires ? [{ labels: '{namespace="p"}', value: 1 }] : [],
        },
      ],
    })),
  };
}

describe('alerts', () => {
  it.each(spec.groups)('of the group $name fire in their cases, and in no others', (group) => {
    writeFileSync(path.join(folder, 'rules.yaml'), yaml.dump({ groups: [group] }));
    writeFileSync(path.join(folder, 'test.yaml'), yaml.dump(testOf(group)));
    const { stdout, stderr, status } = spawnSync('promtool', ['test', 'rules', 'test.yaml'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' });
  });

  it('have an example of routing that Alertmanager reads', () => {
    execFileSync('amtool', ['check-config', path.join(MONITORING, 'alertmanager.yaml')], { stdio: 'pipe' });
  });
});

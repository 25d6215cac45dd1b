import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Gauge, type Registry, register } from 'prom-client';

/** From here up to the package: it is next to `src` in a checkout, and next to `dist` where it was built. */
const ABOVE = ['../../..', '../../../..'];

/** What runs: the package's version, and the commit that the image was made of, if its builder named it. */
export function buildOf(commit: string | undefined): { version: string; commit: string } {
  for (const folder of ABOVE)
    try {
      const text = readFileSync(path.join(__dirname, folder, 'package.json'), 'utf8');
      return { version: (JSON.parse(text) as { version: string }).version, commit: commit || 'unknown' };
    } catch {
      // It is in the other one.
    }
  return { version: 'unknown', commit: commit || 'unknown' };
}

/** Shows it as labels of a metric that is always 1, once in a registry. */
export function showBuild(
  name: string,
  registry: Registry = register,
  commit = process.env.BUILD_COMMIT,
): void {
  if (registry.getSingleMetric(name)) return;
  new Gauge({
    name,
    help: '1, with the version that runs and the commit it was built of',
    labelNames: ['version', 'commit'],
    registers: [registry],
  }).set(buildOf(commit), 1);
}

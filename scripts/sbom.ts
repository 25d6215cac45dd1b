import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

interface Component {
  'bom-ref': string;
  name: string;
  externalReferences?: unknown;
}

interface Bom {
  serialNumber?: string;
  metadata: { timestamp?: string; tools?: unknown; component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

const ROOT = path.join(__dirname, '..');
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * The packages that the image holds, as package-lock.json has them, in CycloneDX 1.5. The same lock file gives the same
 * text everywhere: without time, serial number, registry, or the name of this folder.
 */
export function billOfMaterials(): string {
  const omitted = ['--omit=dev', '--omit=optional'];
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only', ...omitted];
  const text = execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const bom = JSON.parse(text) as Bom;
  const { name } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { name: string };
  delete bom.serialNumber;
  delete bom.metadata.timestamp;
  delete bom.metadata.tools;
  bom.metadata.component.name = name;
  for (const component of [bom.metadata.component, ...bom.components]) delete component.externalReferences;
  bom.components.sort((a, b) => byText(a['bom-ref'], b['bom-ref']));
  bom.dependencies.sort((a, b) => byText(a.ref, b.ref));
  for (const { dependsOn } of bom.dependencies) dependsOn.sort(byText);
  return `${JSON.stringify(bom, null, 2)}\n`;
}

if (require.main === module) writeFileSync(path.join(ROOT, 'sbom.cdx.json'), billOfMaterials());

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

interface Locked {
  name?: string;
  version: string;
  integrity?: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const ROOT = path.join(__dirname, '..');
const MODULES = 'node_modules/';

const nameOf = (place: string, { name }: Locked): string =>
  name ?? place.slice(place.lastIndexOf(MODULES) + MODULES.length);
const purl = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/**
 * The packages that the image holds, as package-lock.json has them, in CycloneDX 1.5: the same lock file gives the same
 * text everywhere. Not by `npm sbom`, which leaves out packages that development uses too, such as pg.
 */
export function billOfMaterials(): string {
  const text = readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as { packages: Record<string, Locked> };
  const { '': service, ...others } = packages;
  const needed = neededBy('', packages);
  const places = Object.entries(others).filter(
    ([place, each]) => !each.dev && !each.optional && !each.devOptional && needed.has(place),
  );
  const refs = new Map(places.map(([place, each]) => [place, purl(nameOf(place, each), each.version)]));
  const own = purl(service.name!, service.version);

  const edges = new Map<string, Set<string>>([[own, new Set()]]);
  for (const [place, each] of [['', service] as const, ...places]) {
    const ref = refs.get(place) ?? own;
    const found = edges.get(ref) ?? new Set<string>();
    edges.set(ref, found);
    for (const name of namesOf(each)) {
      const target = refs.get(resolve(place, name, refs));
      if (target) found.add(target);
    }
  }
  const components = new Map(places.map(([place, each]) => [refs.get(place)!, component(place, each)]));
  const bom = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: {
        'bom-ref': own,
        type: 'application',
        name: service.name,
        version: service.version,
        purl: own,
        properties: [{ name: 'package-lock:sha256', value: createHash('sha256').update(text).digest('hex') }],
      },
    },
    components: sorted(components).map(([, each]) => each),
    dependencies: sorted(edges).map(([ref, dependsOn]) => ({ ref, dependsOn: [...dependsOn].sort() })),
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

const namesOf = (each: Locked): string[] =>
  Object.keys({ ...each.peerDependencies, ...each.optionalDependencies, ...each.dependencies });

/** Where everything is that a package leads to. Of the service that leaves out what only workspaces need. */
function neededBy(from: string, packages: Record<string, Locked>): Set<string> {
  const found = new Set([from]);
  const known = new Map(Object.entries(packages));
  for (const place of found)
    for (const name of namesOf(packages[place])) {
      const target = resolve(place, name, known);
      if (known.has(target)) found.add(target);
    }
  return found;
}

function component(place: string, each: Locked): object {
  const name = nameOf(place, each);
  const ref = purl(name, each.version);
  const [algorithm, digest] = each.integrity?.split('-') ?? [];
  const content = digest && Buffer.from(digest, 'base64').toString('hex');
  return {
    'bom-ref': ref,
    type: 'library',
    name,
    version: each.version,
    purl: ref,
    ...(algorithm === 'sha512' && { hashes: [{ alg: 'SHA-512', content }] }),
    // An identifier or an expression of several; the format takes either as an expression.
    ...(each.license && { licenses: [{ expression: each.license }] }),
  };
}

/** Where Node finds a package that is asked for in a folder: there, or in one above. */
function resolve(place: string, name: string, known: Map<string, unknown>): string {
  for (let at = place; ; at = at.slice(0, Math.max(0, at.lastIndexOf(`/${MODULES}`)))) {
    const candidate = `${at && `${at}/`}${MODULES}${name}`;
    if (at === '' || known.has(candidate)) return candidate;
  }
}

const sorted = <T>(map: Map<string, T>): [string, T][] =>
  [...map].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));

if (require.main === module) writeFileSync(path.join(ROOT, 'sbom.cdx.json'), billOfMaterials());

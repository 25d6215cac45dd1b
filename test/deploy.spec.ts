import yaml from 'js-yaml';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata?: { name?: string };
}

const DEPLOY = path.join(__dirname, '..', 'deploy');
/** Kinds that kustomize reads itself, which no cluster gets. */
const NOT_FOR_CLUSTERS = new Set(['Kustomization', 'Component']);

function manifests(folder: string): Manifest[] {
  return readdirSync(path.join(DEPLOY, folder))
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => yaml.loadAll(readFileSync(path.join(DEPLOY, folder, file), 'utf8')) as Manifest[])
    .filter((manifest) => manifest?.kind && !NOT_FOR_CLUSTERS.has(manifest.kind));
}

/** The class that checks a manifest against the schema of its kind. */
function modelOf({ apiVersion, kind }: Manifest): new (data: Manifest) => { validate(): void } {
  const module = apiVersion.startsWith('monitoring.coreos.com')
    ? `@kubernetes-models/prometheus-operator/${apiVersion}/${kind}`
    : `kubernetes-models/${apiVersion}/${kind}`;
  return jest.requireActual<Record<string, new (data: Manifest) => { validate(): void }>>(module)[kind];
}

describe('manifests in deploy/', () => {
  const all = ['base', 'production', 'monitoring'].flatMap(manifests);

  it('are there', () => {
    const kinds = all.map(({ kind }) => kind);
    for (const kind of ['Deployment', 'Service', 'Job', 'HorizontalPodAutoscaler', 'PodDisruptionBudget'])
      expect(kinds).toContain(kind);
    expect(kinds).toEqual(expect.arrayContaining(['NetworkPolicy', 'ServiceMonitor', 'PrometheusRule']));
  });

  it.each(all.map((manifest) => [`${manifest.kind} ${manifest.metadata?.name}`, manifest] as const))(
    '%s fits its schema',
    (_, manifest) => {
      const Model = modelOf(manifest);
      expect(() => new Model(manifest).validate()).not.toThrow();
    },
  );

  it('are refused when a field has the wrong type', () => {
    const deployment = structuredClone(all.find(({ kind }) => kind === 'Deployment')!);
    (deployment as unknown as { spec: { replicas: unknown } }).spec.replicas = 'two';
    const Model = modelOf(deployment);
    expect(() => new Model(deployment).validate()).toThrow();
  });
});

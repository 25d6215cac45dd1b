import Ajv from 'ajv';
import yaml from 'js-yaml';
import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectionsOf } from './connections';
import { hasSchema, modelOf } from './schemas';

/** What `kubectl kustomize` renders from deploy/. `test/config/deep.js` leaves this file out without kubectl. */

const DEPLOY = path.join(__dirname, '../../deploy');
const COMPONENTS = readdirSync(path.join(DEPLOY, 'components'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
/** What PostgreSQL leaves to others than superusers by default: 100, less three. */
const DEFAULT_CONNECTIONS = 97;

const render = (folder: string): any[] =>
  (
    yaml.loadAll(execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8', stdio: 'pipe' })) as any[]
  ).filter(Boolean);

/** The overlay for production with these components, listed in it as the guide says. */
function withComponents(...components: string[]): any[] {
  const copy = mkdtempSync(path.join(tmpdir(), 'deploy-'));
  try {
    cpSync(DEPLOY, copy, { recursive: true });
    const listed = { components: components.map((each) => `../components/${each}`) };
    appendFileSync(path.join(copy, 'production/kustomization.yaml'), yaml.dump(listed));
    return render(path.join(copy, 'production'));
  } finally {
    rmSync(copy, { recursive: true });
  }
}

const named = (all: any[], kind: string, name: string): any =>
  all.find((each) => each.kind === kind && each.metadata.name === name);
/** By what they are: a digest in the name decides which of the maps that are called so comes first. */
const settingsOf = (all: any[]): Record<string, string> =>
  all.find(({ kind, data }) => kind === 'ConfigMap' && 'DATABASE_POOL_SIZE' in data).data;

function connections(all: any[]): number {
  const { maxReplicas } = named(all, 'HorizontalPodAutoscaler', 'api').spec;
  const { replicas } = named(all, 'Deployment', 'indexer').spec;
  return connectionsOf(Number(settingsOf(all).DATABASE_POOL_SIZE), maxReplicas, replicas);
}

/** The Secrets that pods take settings from. */
function secretsOf(all: any[]): string[] {
  const found: string[] = [];
  JSON.stringify(all, (key, value) => {
    if (key === 'secretRef' || key === 'secretKeyRef') found.push(value.name);
    return value;
  });
  return [...new Set(found)].sort();
}

const closed = (properties: object, required: string[]): object => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const text = { type: 'string', minLength: 1 };

/** After the reference of External Secrets (v1) and of the Gateway API (v1), as far as the manifests use it. */
const SCHEMAS: Record<string, object> = {
  ExternalSecret: closed(
    {
      refreshInterval: { type: 'string', pattern: '^\\d+[smh]$' },
      secretStoreRef: closed({ kind: { enum: ['ClusterSecretStore', 'SecretStore'] }, name: text }, ['name']),
      target: closed({ name: text }, ['name']),
      dataFrom: { type: 'array', items: closed({ extract: closed({ key: text }, ['key']) }, ['extract']) },
    },
    ['secretStoreRef', 'target', 'dataFrom'],
  ),
  HTTPRoute: closed(
    {
      parentRefs: { type: 'array', items: closed({ name: text, namespace: text }, ['name']) },
      hostnames: { type: 'array', items: text },
      rules: {
        type: 'array',
        items: closed(
          {
            matches: {
              type: 'array',
              items: closed(
                { path: closed({ type: { enum: ['Exact', 'PathPrefix'] }, value: text }, ['type', 'value']) },
                ['path'],
              ),
            },
            timeouts: closed({ request: { type: 'string', pattern: '^([0-9]{1,5}(h|m|s|ms)){1,4}$' } }, [
              'request',
            ]),
            backendRefs: {
              type: 'array',
              items: closed({ name: text, port: { type: 'integer' } }, ['name', 'port']),
            },
          },
          ['matches', 'backendRefs'],
        ),
      },
    },
    ['parentRefs', 'hostnames', 'rules'],
  ),
};

it.each([
  ...['production', 'several-chains', 'postgres', 'postgres-recovery'].map((overlay) => ({
    built: overlay,
    render: () => render(path.join(DEPLOY, overlay)),
  })),
  ...[...COMPONENTS.map((each) => [each]), COMPONENTS.filter((each) => each !== 'small')].map(
    (components) => ({
      built: `production with ${components.join(', ')}`,
      render: () => withComponents(...components),
    }),
  ),
])('$built fits the schemas of its kinds', ({ render: rendered }) => {
  const all = rendered().filter(hasSchema);
  expect(all.length).toBeGreaterThan(0);
  for (const manifest of all) {
    const Model = modelOf(manifest);
    expect(() => new Model(manifest).validate()).not.toThrow();
  }
});

it('every container runs without rights, and with a read-only file system', () => {
  const pods = render(path.join(DEPLOY, 'production')).flatMap(({ spec }) => spec?.template?.spec ?? []);
  expect(pods).toHaveLength(4);
  for (const { securityContext, containers, initContainers = [] } of pods) {
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    for (const container of [...containers, ...initContainers])
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
  }
});

it.each([...COMPONENTS.map((each) => [each]), COMPONENTS.filter((each) => each !== 'small')])(
  'the overlay for production takes %s',
  (...components) => {
    const before = render(path.join(DEPLOY, 'production'));
    const all = withComponents(...components);
    expect(JSON.stringify(all)).not.toBe(JSON.stringify(before));
    for (const { kind, metadata } of before.filter(({ kind }) => kind !== 'ConfigMap'))
      expect(named(all, kind, metadata.name)).toBeDefined();
    const { minReplicas, maxReplicas } = named(all, 'HorizontalPodAutoscaler', 'api').spec;
    expect(minReplicas).toBeLessThanOrEqual(maxReplicas);
  },
);

it.each([
  { size: 'default', components: [], api: [3, 8], indexers: 2, pool: '6' },
  { size: 'small', components: ['small'], api: [1, 2], indexers: 1, pool: '6' },
  { size: 'large', components: ['large'], api: [6, 30], indexers: 2, pool: '12' },
])('the size $size has its replicas and connections', ({ components, api, indexers, pool }) => {
  const all = withComponents(...components);
  const { minReplicas, maxReplicas } = named(all, 'HorizontalPodAutoscaler', 'api').spec;
  expect([minReplicas, maxReplicas]).toEqual(api);
  expect(named(all, 'Deployment', 'indexer').spec.replicas).toBe(indexers);
  expect(settingsOf(all).DATABASE_POOL_SIZE).toBe(pool);
  // A second API starts at 300 % of what the first one asks for, whatever the size: 0.75 of a core.
  expect(named(all, 'Deployment', 'api').spec.template.spec.containers[0].resources.requests.cpu).toBe(
    '250m',
  );
});

it('a recovered PostgreSQL reads the archive of the first, and writes to another folder of it', () => {
  const all = render(path.join(DEPLOY, 'postgres-recovery'));
  const { spec, metadata } = all.find(({ kind }) => kind === 'Cluster');
  const { bootstrap, externalClusters, plugins } = spec;
  const [{ name, plugin }] = externalClusters;
  expect(bootstrap.recovery).toMatchObject({ source: name, database: 'savings', owner: 'savings' });
  const [archiver] = plugins;
  const store = archiver.parameters.barmanObjectName;
  expect(plugin).toEqual({
    name: archiver.name,
    parameters: { barmanObjectName: store, serverName: 'postgres' },
  });
  expect(archiver.parameters.serverName).toBe(metadata.name);
  expect(metadata.name).not.toBe('postgres');
  expect(named(all, 'ScheduledBackup', metadata.name).spec.cluster.name).toBe(metadata.name);
});

it('the key of tokens is given to the API alone', () => {
  const given = render(path.join(DEPLOY, 'production')).filter(({ kind, spec }) => {
    if (kind !== 'Deployment' && kind !== 'Job') return false;
    const [{ env = [], envFrom = [] }] = spec.template.spec.containers;
    return (
      envFrom.some((each: any) => each.secretRef?.name === 'pooled-savings') ||
      env.some(({ name }: any) => name.startsWith('JWT_'))
    );
  });
  expect(given.map(({ metadata }) => metadata.name)).toEqual(['api']);
});

it.each(Object.entries(SCHEMAS))('%s fits its reference', (kind, schema) => {
  const found = withComponents('gateway', 'external-secrets').filter((each) => each.kind === kind);
  expect(found.length).toBeGreaterThan(0);
  const fits = new Ajv().compile(schema);
  for (const { spec } of found) {
    fits(spec);
    expect(fits.errors).toBeNull();
  }
});

it('External Secrets makes each Secret that pods name', () => {
  const all = withComponents('external-secrets', 'standby-reads');
  const made = all.filter(({ kind }) => kind === 'ExternalSecret').map(({ spec }) => spec.target.name);
  expect(made.sort()).toEqual(secretsOf(all));
});

it('what is deployed without further thought leaves a fifth of the default connections to others', () => {
  expect(connections(render(path.join(DEPLOY, 'production')))).toBeLessThanOrEqual(DEFAULT_CONNECTIONS * 0.8);
  expect(connections(withComponents('small'))).toBeLessThanOrEqual(DEFAULT_CONNECTIONS * 0.8);
});

it('the large one says how many connections it needs', () => {
  const needed = connections(withComponents('large'));
  const told = readFileSync(path.join(DEPLOY, 'components/large/kustomization.yaml'), 'utf8');
  expect(told).toContain(` = ${needed}`);
});

it('streams are neither held back nor cut by what stands before the API', () => {
  const { annotations } = named(withComponents('ingress'), 'Ingress', 'api').metadata;
  expect(annotations).toMatchObject({ 'nginx.ingress.kubernetes.io/proxy-buffering': 'off' });
  expect(Number(annotations['nginx.ingress.kubernetes.io/proxy-read-timeout'])).toBeGreaterThan(60);
  const { rules } = named(withComponents('gateway'), 'HTTPRoute', 'api').spec;
  for (const value of ['/events', '/api/events'])
    expect(
      rules.find((rule: any) => rule.matches.some((match: any) => match.path.value === value)).timeouts,
    ).toEqual({ request: '0s' });
  // Google's load balancer keeps its connections for 600 s.
  expect(Number(settingsOf(withComponents('gateway')).KEEP_ALIVE_TIMEOUT)).toBeGreaterThan(600);
});

it('two chains share nothing, and each has what production has', () => {
  const all = render(path.join(DEPLOY, 'several-chains'));
  const spaces = [
    ...new Set(
      all.map(({ kind, metadata }) => metadata.namespace ?? (kind === 'Namespace' && metadata.name)),
    ),
  ];
  expect(spaces.sort()).toEqual(['pooled-savings-first', 'pooled-savings-second']);
  const chains = all.flatMap(({ data }) => data?.CHAIN_ID ?? []);
  expect(new Set(chains).size).toBe(2);
  const kinds = (space: string, of = all): string[] =>
    of.filter(({ metadata }) => metadata.namespace === space).map(({ kind }) => kind);
  const production = kinds('pooled-savings', render(path.join(DEPLOY, 'production')));
  for (const space of spaces) expect(kinds(space).sort()).toEqual(production.sort());
});

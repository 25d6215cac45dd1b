import Ajv from 'ajv';
import yaml from 'js-yaml';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { loadEnvironment, loadKeeperEnvironment } from '#settings/environment';
import { connectionsOf } from './connections';
import { type Manifest, hasSchema, modelOf } from './schemas';

const DEPLOY = path.join(__dirname, '../../deploy');
/** Kinds that kustomize reads itself, which no cluster gets. */
const NOT_FOR_CLUSTERS = new Set(['Kustomization', 'Component']);

function manifests(folder: string): Manifest[] {
  return readdirSync(path.join(DEPLOY, folder))
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => yaml.loadAll(readFileSync(path.join(DEPLOY, folder, file), 'utf8')) as Manifest[])
    .filter((manifest) => manifest?.kind && !NOT_FOR_CLUSTERS.has(manifest.kind));
}

describe('manifests in deploy/', () => {
  const all = ['base', 'production', 'monitoring', 'postgres'].flatMap(manifests).filter(hasSchema);

  it.each(all.map((manifest) => [`${manifest.kind} ${manifest.metadata?.name}`, manifest] as const))(
    '%s fits its schema',
    (_, manifest) => {
      const Model = modelOf(manifest);
      expect(() => new Model(manifest).validate()).not.toThrow();
    },
  );
});

it('pods reach private addresses only at the ports of what the service needs there', () => {
  const rules = manifests('base')
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .flatMap((each) => ((each as any).spec.egress ?? []) as any[]);
  const anywhere = rules.filter(({ to }) => !to).flatMap(({ ports }) => ports.map((each: any) => each.port));
  expect(anywhere.sort()).toEqual([26379, 5432, 6379, 8545]);
  const blocks = rules.flatMap(({ to = [] }) => to.map((each: any) => each.ipBlock)).filter(Boolean);
  const excepted = blocks.flatMap(({ except }) => except);
  for (const range of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', 'fc00::/7'])
    expect(excepted).toContain(range);
});

it('production has each setting that it needs in a config.env, or in the Secret that the guide makes', () => {
  const text = (file: string): string => readFileSync(path.join(DEPLOY, file), 'utf8');
  const named = [
    ...(text('base/config.env') + text('production/config.env')).matchAll(/^(\w+)=/gm),
    ...text('README.md').matchAll(/--from-literal=(\w+)=/g),
  ].map(([, name]) => name);
  const production = { NODE_ENV: 'production' };
  for (const load of [
    () => loadEnvironment(production, 'api'),
    () => loadEnvironment(production, 'indexer'),
    () => loadKeeperEnvironment(production),
  ]) {
    let missing: string[] = [];
    try {
      load();
    } catch (error) {
      missing = (error as Error).message
        .split('\n')
        .slice(1)
        .map((line) => line.trim().split(' ')[0]);
    }
    expect(missing).toContain('POOL_CONTRACTS');
    expect(named).toEqual(expect.arrayContaining(missing));
  }
});

/**
 * What the package's schemas of CloudNativePG 1.24 lack, after the operator's API reference (cloudnative-pg.io/docs,
 * version 1.29): SynchronousReplicaConfiguration, IsolationCheckConfiguration, PluginConfiguration. Closed, so that a
 * misspelt field is found, which Kubernetes would drop.
 */
const closed = (properties: object, required: string[] = []): object => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const SINCE_1_24 = {
  type: 'object',
  required: ['postgresql', 'probes', 'plugins'],
  properties: {
    postgresql: {
      type: 'object',
      required: ['synchronous'],
      properties: {
        synchronous: closed(
          {
            method: { enum: ['any', 'first'] },
            number: { type: 'integer', minimum: 1 },
            dataDurability: { enum: ['required', 'preferred'] },
            failoverQuorum: { type: 'boolean' },
            maxStandbyNamesFromCluster: { type: 'integer', minimum: 0 },
          },
          ['method', 'number'],
        ),
      },
    },
    probes: closed({ liveness: closed({ isolationCheck: closed({ enabled: { type: 'boolean' } }) }) }),
    plugins: {
      type: 'array',
      items: closed(
        {
          name: { type: 'string' },
          enabled: { type: 'boolean' },
          isWALArchiver: { type: 'boolean' },
          parameters: { type: 'object', additionalProperties: { type: 'string' } },
        },
        ['name'],
      ),
    },
  },
};

describe('the PostgreSQL of CloudNativePG', () => {
  const named = (kind: string): any => manifests('postgres').find((each) => each.kind === kind);
  const { spec } = named('Cluster');
  const fits = new Ajv().compile(SINCE_1_24);

  it('fits what its package of schemas does not know yet', () => {
    fits(spec);
    expect(fits.errors).toBeNull();
    const misspelt = structuredClone(spec);
    misspelt.postgresql.synchronous.dataDurabilty = 'required';
    expect(fits(misspelt)).toBe(false);
  });

  it('answers no commit that only one server has', () => {
    expect(spec.instances).toBeGreaterThanOrEqual(3);
    expect(spec.postgresql.synchronous).toMatchObject({ dataDurability: 'required', failoverQuorum: true });
    expect(['on', 'remote_apply']).toContain(spec.postgresql.parameters.synchronous_commit);
    expect(spec.affinity.podAntiAffinityType).toBe('required');
  });

  it('archives WAL into the store that its backups use', () => {
    const archiver = spec.plugins.find((plugin: any) => plugin.isWALArchiver);
    expect(archiver.parameters.barmanObjectName).toBe(named('ObjectStore').metadata.name);
    const { cluster, method, pluginConfiguration } = named('ScheduledBackup').spec;
    expect({ cluster: cluster.name, method, plugin: pluginConfiguration.name }).toEqual({
      cluster: named('Cluster').metadata.name,
      method: 'plugin',
      plugin: archiver.name,
    });
  });

  it('has as many connections as the API and the indexers may open', () => {
    const of = (kind: string, name: string): any =>
      manifests('base').find((each) => each.kind === kind && each.metadata?.name === name);
    const { maxReplicas } = of('HorizontalPodAutoscaler', 'api').spec;
    const { replicas } = of('Deployment', 'indexer').spec;
    const config = readFileSync(path.join(DEPLOY, 'base/config.env'), 'utf8');
    const poolSize = Number(/^DATABASE_POOL_SIZE=(\d+)$/m.exec(config)![1]);
    const wanted = connectionsOf(poolSize, maxReplicas, replicas);
    expect(Number(spec.postgresql.parameters.max_connections)).toBeGreaterThan(wanted);
  });
});

describe('the image', () => {
  const dockerfile = readFileSync(path.join(DEPLOY, '..', 'Dockerfile'), 'utf8');

  it('has the Node.js on which the tests run', () => {
    const { scripts } = JSON.parse(readFileSync(path.join(DEPLOY, '../package.json'), 'utf8')) as {
      scripts: { node24: string };
    };
    const [, tested] = /node@(\d+)\./.exec(scripts.node24)!;
    expect(dockerfile).toMatch(new RegExp(`^ARG NODE_IMAGE=node:${tested}-`, 'm'));
  });

  it('has a compile cache made by its own user, at the path where it looks for it', () => {
    const [, user, cache, code] =
      /^USER (\S+)\nRUN .*NODE_COMPILE_CACHE=\/app\/(\S+) node -e "([^"]+)"/m.exec(dockerfile)!;
    const image = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(image).toContain(`\nUSER ${user}\n`);
    expect(image).toContain(`\nENV NODE_COMPILE_CACHE=/app/${cache}\n`);
    expect(image).toContain(`\nCOPY --from=production /app/${cache} ${cache}\n`);
    const modules = [...code.matchAll(/'\.\/dist\/([^']+)'/g)].map(([, module]) => module);
    expect(modules.length).toBeGreaterThan(0);
    for (const module of modules) expect(existsSync(path.join(DEPLOY, '..', `${module}.ts`))).toBe(true);
  });
});

describe('compose', () => {
  const { services } = yaml.load(readFileSync(path.join(DEPLOY, 'compose.yaml'), 'utf8')) as {
    services: Record<string, { environment: Record<string, string>; volumes: string[] }>;
  };
  const accountOf = (service: string): URL => new URL(services[service].environment.DATABASE_URL);
  const scripts = services.postgres.volumes
    .filter((volume) => volume.includes('/docker-entrypoint-initdb.d/'))
    .map((volume) => volume.split(':'))
    .sort(([, one], [, other]) => one.localeCompare(other))
    .map(([file]) => readFileSync(path.join(DEPLOY, file), 'utf8'));

  it('gives each part its account, so that only migrations may change definitions', () => {
    expect(['migrate', 'api', 'indexer'].map((service) => accountOf(service).username)).toEqual([
      'savings',
      'savings_api',
      'savings_indexer',
    ]);
  });

  it('makes these accounts with their passwords, and the database, before anything connects', () => {
    const [roles, accounts] = scripts;
    const made = [...new Set([...roles.matchAll(/'(savings\w*)'/g)].map(([, name]) => name))];
    expect(made).toContain('savings_operator');
    const passwords = [...accounts.matchAll(/^ALTER ROLE (\w+) PASSWORD '(\w+)';$/gm)];
    expect(passwords.map(([, role]) => role)).toEqual(made);
    for (const service of ['migrate', 'api', 'indexer']) {
      const { username, password, pathname } = accountOf(service);
      expect(passwords.map(([, ...pair]) => pair)).toContainEqual([username, password]);
      expect(accounts).toContain(`CREATE DATABASE ${pathname.slice(1)} OWNER savings;`);
    }
    expect(Object.keys(services.postgres.environment)).toEqual(['POSTGRES_PASSWORD']);
  });
});

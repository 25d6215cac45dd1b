export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata?: { name?: string };
}

/** Packages with the kinds of operators, by API group. */
const OPERATORS: Record<string, string> = {
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'postgresql.cnpg.io': '@kubernetes-models/cloudnative-pg',
};
/** API groups without a package of schemas. */
const WITHOUT = ['barmancloud.cnpg.io', 'external-secrets.io', 'gateway.networking.k8s.io'];

const groupOf = ({ apiVersion }: Manifest): string => apiVersion.split('/')[0];

export const hasSchema = (manifest: Manifest): boolean => !WITHOUT.includes(groupOf(manifest));

/** The class that checks a manifest against the schema of its kind. */
export function modelOf(manifest: Manifest): new (data: Manifest) => { validate(): void } {
  const { apiVersion, kind } = manifest;
  const module = `${OPERATORS[groupOf(manifest)] ?? 'kubernetes-models'}/${apiVersion}/${kind}`;
  return jest.requireActual<Record<string, new (data: Manifest) => { validate(): void }>>(module)[kind];
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { billOfMaterials } from '../../scripts/sbom';

const ROOT = join(__dirname, '../..');

interface Locked {
  name?: string;
  version: string;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
}
interface Bom {
  bomFormat: string;
  specVersion: string;
  components: { 'bom-ref': string; name: string; version: string; purl: string; hashes: unknown[] }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

describe('npm run sbom', () => {
  const text = billOfMaterials();
  const bom = JSON.parse(text) as Bom;

  it('lists the production packages of the lock file, and no others', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, Locked>;
    };
    const locked = Object.entries(lock.packages)
      .filter(([path, { dev, optional, devOptional }]) => path && !dev && !optional && !devOptional)
      // What only the client and the example need, which are no part of the image.
      .filter(
        ([path]) =>
          !/^client$|^examples|pooled-savings|preact$|openapi-(fetch|typescript-helpers)$/.test(path),
      )
      .map(([path, { name, version }]) => `${name ?? path.replace(/^.*node_modules\//, '')}@${version}`);
    const listed = bom.components.map(({ name, version }) => `${name}@${version}`);
    expect(listed.sort()).toEqual([...new Set(locked)].sort());
    expect(listed.length).toBeGreaterThan(100);
    expect(listed.filter((each) => /^(fastify|viem|pg)@/.test(each))).toHaveLength(3);
    expect(listed.filter((each) => /^(jest|typescript|@foundry-rs\/.*)@/.test(each))).toEqual([]);
  });

  it('is CycloneDX, whose references all exist', () => {
    expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1 });
    for (const { purl, hashes } of bom.components) {
      expect(purl).toMatch(/^pkg:npm\/[^?]+@[\w.+-]+$/);
      expect(hashes).toEqual([expect.objectContaining({ alg: 'SHA-512', content: expect.any(String) })]);
    }
    const refs = new Set([
      ...bom.components.map((each) => each['bom-ref']),
      ...bom.dependencies.map(({ ref }) => ref),
    ]);
    expect(refs.size).toBe(bom.components.length + 1);
    const reached = new Set(bom.dependencies.flatMap(({ dependsOn }) => dependsOn));
    expect(bom.components.map((each) => each['bom-ref']).filter((ref) => !reached.has(ref))).toEqual([]);
    for (const { dependsOn } of bom.dependencies) for (const ref of dependsOn) expect(refs).toContain(ref);
  });
});

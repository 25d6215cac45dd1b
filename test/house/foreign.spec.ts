import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const src = join(__dirname, '../../src');

it('only platform/foreign imports what NestJS, class-validator and class-transformer do not export', () => {
  const deep = /from '(@nestjs\/[\w-]+|class-(?:validator|transformer))\/[^']+'/;
  const found = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && deep.test(readFileSync(join(src, file), 'utf8')))
    .sort();
  expect(found).toEqual([
    'platform/foreign/class-transformer.d.ts',
    'platform/foreign/class-validator-internals.ts',
    'platform/foreign/nest-internals.ts',
    'platform/foreign/throttler-internals.ts',
  ]);
});

it('only platform/foreign replaces methods of classes of others', () => {
  const replaces = /\bprototype(\.\w+|\[[^\]]+\]) = /;
  const found = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && replaces.test(readFileSync(join(src, file), 'utf8')))
    .sort();
  expect(found).toEqual(['platform/foreign/nest-internals.ts']);
});

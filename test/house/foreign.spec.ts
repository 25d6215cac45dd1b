import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const src = join(__dirname, '../../src');

it.each([
  [
    'imports what NestJS, class-validator and class-transformer do not export',
    /from '(@nestjs\/[\w-]+|class-(?:validator|transformer))\/[^']+'/,
    ['class-transformer.d', 'class-validator-internals', 'nest-internals', 'throttler-internals'],
  ],
  ['replaces methods of classes of others', /\bprototype(\.\w+|\[[^\]]+\]) = /, ['nest-internals']],
])('only platform/foreign %s', (_, pattern, files) => {
  const found = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && pattern.test(readFileSync(join(src, file), 'utf8')))
    .sort();
  expect(found).toEqual(files.map((file) => `platform/foreign/${file}.ts`));
});

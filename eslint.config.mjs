import { defineConfig, globalIgnores } from 'eslint/config';
import path from 'node:path';
import tseslint from 'typescript-eslint';

const NO_FORWARD_REF = {
  name: '@nestjs/common',
  importNames: ['forwardRef'],
  message: 'A cycle between providers is a fault of the design: move what both need into one of its own.',
};

/** From the ground up: each may import what stands before it. `test/house/modules.spec.ts` holds all of src against this. */
const LAYERS = [
  'values',
  'platform',
  'ledger',
  'features',
  'settings',
  'extensions',
  'verify',
  'indexer',
  'keeper',
  'api',
  'dev',
];

/** A boundary: which files, and which imports they may not have, with the reason. */
const boundary = (files, patterns, ignores = []) => ({
  files,
  ignores,
  rules: {
    'no-restricted-imports': ['error', { paths: [NO_FORWARD_REF], patterns }],
    'rooms/imports': 'error',
  },
});

/** Imports out of a room name the room. `--fix` writes them. */
const ROOM_IMPORTS = {
  meta: { type: 'problem', fixable: 'code', schema: [] },
  create(context) {
    const check = ({ source }) => {
      if (!/^\.\.\/(?!\.\.\/contracts\/)/.test(source?.value)) return;
      const target = path.resolve(path.dirname(context.filename), source.value);
      const inSrc = path.relative(path.join(import.meta.dirname, 'src'), target);
      context.report({
        node: source,
        message: "Name the room: '#platform/log/logger'. package.json's `imports` leads there.",
        fix: inSrc.startsWith('..') ? null : (fixer) => fixer.replaceText(source, `'#${inSrc}'`),
      });
    };
    return { ImportDeclaration: check, ExportNamedDeclaration: check, ExportAllDeclaration: check };
  },
};

const above = (layer) => ({
  regex: `^#(${LAYERS.slice(LAYERS.indexOf(layer) + 1).join('|')})/`,
  message: `Imports point down: ${LAYERS.join(' < ')}.`,
});

/** `app.module.ts` names the extensions, so each can be left out by deleting its folder and its name there. */
const NOT_OPTIONAL = {
  regex: '^#extensions/',
  message: 'Extensions are optional: only app.module.ts and other extensions import them.',
};

/** What a feature or extension may use of another one: entities, statements, settings, and its module and service. */
const NOT_EXPORTED = {
  regex:
    '^#(features|extensions)/(?!access/(auth\\.guard|current-user|sessions|lifetimes)$|payments/(calls\\.dto|contract-calls)$)(?![^/]+/[^/]+\\.(entity|sql|settings)$)(?!(?<feature>[^/]+)/\\k<feature>\\.(module|service)$)',
  message:
    "Of another feature, use entities, statements, settings, module and service, access's guard, current user, sessions and lifetimes, and how payments answers a call.",
};

/** The start page is made of others' answers, so it names them. */
const NOT_AN_ANSWER = {
  ...NOT_EXPORTED,
  regex: NOT_EXPORTED.regex.replace('(entity|sql|settings)', '(entity|sql|settings|dto)'),
};

const FEW_DEPENDENCIES = {
  selector: 'MethodDefinition[kind="constructor"] > FunctionExpression[params.length>5]',
  message: 'A class with more than five dependencies does too much.',
};

const NO_MODULE_MOCKS = {
  selector:
    'CallExpression[callee.object.name="jest"][callee.property.name=/^((do|set)?[mM]ock|resetModules|isolateModules)$/]',
  message:
    'Test files share the modules of the service (test/support/run): use jest.spyOn, or overrides of useApp.',
};

const boundaries = [
  ...LAYERS.slice(0, -1).map((layer) =>
    boundary(
      [`src/${layer}/**/*.ts`],
      [
        above(layer),
        ...(layer === 'features' || layer === 'extensions' ? [NOT_EXPORTED] : []),
        ...(LAYERS.indexOf(layer) > LAYERS.indexOf('extensions') ? [NOT_OPTIONAL] : []),
      ],
      ['src/api/app.module.ts'],
    ),
  ),
  boundary(['src/api/app.module.ts'], [above('api')]),
  boundary(['src/extensions/start/*.ts'], [above('extensions'), NOT_AN_ANSWER]),
  boundary(['src/dev/**/*.ts'], [NOT_OPTIONAL]),
  // Entries of production.
  boundary(['src/*.ts'], [above('api'), NOT_OPTIONAL]),
];

export default defineConfig(
  globalIgnores([
    'dist',
    'client/dist*',
    'examples/dapp/dist',
    'client/src/schema.ts',
    'coverage',
    '**/.data',
    'bench/results*',
  ]),
  tseslint.configs.recommendedTypeChecked,
  {
    plugins: { rooms: { rules: { imports: ROOM_IMPORTS } } },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      // It leaves files with decorators alone, where an import that looks like a type is a value of the metadata.
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      'no-restricted-imports': ['error', { paths: [NO_FORWARD_REF] }],
      'no-restricted-syntax': ['error', FEW_DEPENDENCIES],
    },
  },
  ...boundaries,
  {
    // Tests, benchmarks and tools of the repository.
    files: [
      'test/**/*.ts',
      'src/**/*.spec.ts',
      'bench/**',
      'scripts/**',
      'contracts/**',
      'examples/**',
      'deploy/**',
    ],
    rules: {
      'no-console': 'off',
      'no-restricted-imports': 'off',
      'rooms/imports': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/require-await': 'off',
      'no-restricted-syntax': ['error', NO_MODULE_MOCKS],
    },
  },
  {
    files: ['src/**/*.spec.ts'],
    rules: { 'no-restricted-syntax': ['error', FEW_DEPENDENCIES, NO_MODULE_MOCKS] },
  },
  { files: ['**/*.{js,mjs,cjs}'], extends: [tseslint.configs.disableTypeChecked] },
  { files: ['**/*.{js,cjs}'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
);

import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** What every part of the service may build on. */
const FOUNDATION = 'common|config|database|chain|rate-limit|openapi|outbox';
/** What a feature may use of auth beside what follows. */
const SHARED_AUTH = 'auth/(auth\\.guard|current-user|session-watch)$';
/** What a feature may use of another one: entities, statements, and its module and service, which have its name. */
const EXPORTED =
  '(?!(indexer|local|verify)/)(?:[^/]+/[^/]+\\.(entity|sql)$|(?<feature>[^/]+)/\\k<feature>\\.(module|service)$)';

const NO_FORWARD_REF = {
  name: '@nestjs/common',
  importNames: ['forwardRef'],
  message: 'A cycle between providers is a fault of the design: move what both need into one of its own.',
};

/** Folders of src are flat, so every import that leaves one begins with `../`. */
const leavesFor = (...allowed) => `^\\.\\./(?!${allowed.map((each) => `(${each})`).join('|')})`;

/** A boundary: which files, which imports they may not have, and why. */
const boundary = (files, regex, message, ignores = []) => ({
  files,
  ignores,
  rules: {
    'no-restricted-imports': ['error', { paths: [NO_FORWARD_REF], patterns: [{ regex, message }] }],
  },
});

const FEATURE_RULE =
  "A feature depends on common, config, database, chain, rate-limit, openapi and outbox, on entities, statements, module and service of other features, and on auth's guard, current-user and session watch.";

const boundaries = [
  boundary(
    ['src/*.ts'],
    '^\\./(local|indexer)(/|$)',
    'Nothing imports the indexer, and nothing of production imports what is for development only.',
    ['src/local.ts', 'src/indexer.ts', 'src/verify.ts'],
  ),
  boundary(
    ['src/indexer.ts', 'src/verify.ts'],
    '^\\./local(/|$)',
    'Production does not import what is for development only.',
  ),
  boundary(['src/local.ts'], '^\\./indexer(/|$)', 'Nothing imports the indexer; it is a process of its own.'),
  boundary(['src/*/**/*.ts'], leavesFor(`(${FOUNDATION})/`, SHARED_AUTH, EXPORTED), FEATURE_RULE, [
    'src/local/**',
    'src/openapi/write.ts',
  ]),
  boundary(
    ['src/{common,config,database,chain,rate-limit,openapi,outbox}/**/*.ts'],
    leavesFor(`(${FOUNDATION})/`),
    'common, config, database, chain, rate-limit, openapi and outbox depend on each other only.',
    ['src/openapi/write.ts'],
  ),
  boundary(
    ['src/indexer/verification.ts'],
    leavesFor(`(${FOUNDATION})/`, 'verify/'),
    'Only here the indexer runs the verification, which shares no code with what it verifies.',
  ),
];

export default defineConfig(
  globalIgnores(['dist', 'client/dist', 'client/src/schema.ts', 'coverage', '.data', 'bench/results*']),
  tseslint.configs.recommendedTypeChecked,
  {
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
      'max-lines': ['error', { max: 250, skipBlankLines: false, skipComments: false }],
      'no-restricted-imports': ['error', { paths: [NO_FORWARD_REF] }],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'MethodDefinition[kind="constructor"] > FunctionExpression[params.length>5]',
          message: 'A class with more than five dependencies does too much.',
        },
      ],
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
      'max-lines': 'off',
      'no-console': 'off',
      'no-restricted-imports': 'off',
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  { files: ['**/*.{js,mjs,cjs}'], extends: [tseslint.configs.disableTypeChecked] },
  { files: ['**/*.{js,cjs}'], rules: { '@typescript-eslint/no-require-imports': 'off' } },
);

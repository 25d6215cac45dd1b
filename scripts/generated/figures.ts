import { readFileSync } from 'node:fs';
import path from 'node:path';
import * as tables from '../../bench/tables';

const results = <Results>(file: string): Results =>
  JSON.parse(readFileSync(path.join(__dirname, '../../bench', file), 'utf8')) as Results;

/** bench/RESULTS.md: the figures of the last run of each benchmark, from the files that they write. */
export const figures = (): string =>
  `# Figures

Written by \`npm run generate\` from the files that the benchmarks write. What the columns mean, and what the figures say: [benchmarks](README.md).

## Requests

${tables.requestTables(results('results.json'))}

## Scale

${tables.scaleTables(results('results-scale.json'))}

## Fairness

${tables.fairnessTables(results('results-fairness.json'))}

## Indexer

${tables.indexerTables(results('results-indexer.json'))}
`;

// Redocly's and Spectral's recommended rules over openapi.json; warnings count as errors. Part of `npm run lint`.
import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectral from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const file = process.argv[2] ?? path.join(import.meta.dirname, '../openapi.json');
const source = readFileSync(file, 'utf8');

const { paths } = JSON.parse(source);
/** Redocly compares paths alone. Two of them that have no method in common are told apart by it. */
const isClear = ({ ruleId, message }) => {
  if (ruleId !== 'no-ambiguous-paths') return false;
  const [one, other] = [...message.matchAll(/`([^`]+)`/g)].map(([, name]) => Object.keys(paths[name]));
  return !one.some((method) => other.includes(method));
};

const config = await createConfig({ extends: ['recommended'] });
const redocly = (await lintFromString({ source, absoluteRef: file, config }))
  .filter((problem) => !isClear(problem))
  .map(
    ({ ruleId, message, location: [{ pointer = '' } = {}] }) => `redocly ${ruleId} ${pointer}: ${message}`,
  );

const linter = new spectral.Spectral();
linter.setRuleset({ extends: [rulesets.oas] });
const stoplight = (await linter.run(JSON.parse(source))).map(
  ({ code, message, path: where }) => `spectral ${code} ${where.join('/')}: ${message}`,
);

const problems = [...redocly, ...stoplight];
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(`${problems.length} problems in ${path.basename(file)}`);
  process.exitCode = 1;
}

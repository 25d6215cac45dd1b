import { distance } from 'fastest-levenshtein';
import { readFileSync } from 'node:fs';

const SUFFIX = '_FILE';
const LAST_BREAK = /\r?\n$/;
/** Shorter names are close to those of other programs: HOST to HOME. */
const LEAST_LENGTH = 7;
/** Letters that are wrong, missing or too many. */
const MOST_SLIPS = 2;

/**
 * The variables, with the values of those that are in files: NAME_FILE names the file of NAME, as orchestrators mount
 * secrets. A line break at the end of a file or a variable does not count.
 * @param names of settings
 * @returns also what is wrong, by the name of the setting
 */
export function withFiles(
  variables: NodeJS.ProcessEnv,
  names: string[],
): { values: NodeJS.ProcessEnv; problems: Map<string, string> } {
  const values = { ...variables };
  const problems = new Map<string, string>();
  for (const name of new Set(names)) {
    values[name] = variables[name]?.replace(LAST_BREAK, '');
    const file = variables[name + SUFFIX];
    if (!file) continue;
    if (variables[name]) problems.set(name, `${name} and ${name}${SUFFIX} are both set`);
    else
      try {
        values[name] = readFileSync(file, 'utf8').replace(LAST_BREAK, '');
        if (values[name] === '') problems.set(name, `${name}${SUFFIX} names an empty file`);
      } catch (error) {
        problems.set(name, `${name}${SUFFIX} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
      }
  }
  return { values, problems };
}

/**
 * A sentence for each variable that is no setting, but is written almost like one that is not set.
 * @param names of settings
 */
export function misspelt(variables: NodeJS.ProcessEnv, names: string[]): string[] {
  const known = [...names, ...names.map((name) => name + SUFFIX)];
  const missing = known.filter((name) => name.length >= LEAST_LENGTH && variables[name] === undefined);
  const others = Object.keys(variables).filter((name) => !known.includes(name));
  return others.flatMap((name) => {
    const meant = missing.find((each) => distance(each, name) <= MOST_SLIPS);
    return meant === undefined ? [] : [`${name} is no setting and has no effect. Is ${meant} meant?`];
  });
}

import { applyDecorators } from '@nestjs/common';
import { Transform, plainToInstance } from 'class-transformer';
import { IsInt, Max, Min, validateSync } from 'class-validator';
import 'reflect-metadata';
import { rulesOf } from '#platform/foreign/class-validator-internals';
import { withFiles } from './setting-files';

type Reader = 'API' | 'indexer' | 'keeper' | 'verify' | 'migrations';

export interface Facts {
  /** The processes that act by it. */
  readBy: 'all' | readonly Reader[];
  /** What a value looks like, where its rules do not say it. */
  form?: string;
  /** A value for `.env.example`, where a line that is active would be wrong: no default, or one of `npm start`. */
  example?: string;
  /** What holds while it is not set, in words, where the field has no default or one that says little. */
  unset?: string;
}

export const FACTS = Symbol('setting');

/**
 * Says of a setting what operators read in `docs/configuration.md` and `.env.example`, which `npm run generate` writes.
 * @param about what it does, as a line of Markdown
 */
export const Setting =
  (about: string, facts: Facts): PropertyDecorator =>
  (target, name) =>
    Reflect.defineMetadata(FACTS, { about, ...facts }, target, name);

/** A whole number without a sign. With bounds these are rules; without, the field has rules of its own. */
export const Integer = (least?: number, most?: number): PropertyDecorator =>
  applyDecorators(
    ...(most === undefined ? [] : [Max(most)]),
    ...(least === undefined ? [] : [Min(least), IsInt()]),
    Transform(({ value }: { value: unknown }) => {
      if (typeof value !== 'string') return value;
      return /^\d+$/.test(value) ? Number(value) : NaN;
    }),
  );

/** `true`, `1`, `false` or `0`. */
export const Flag = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => {
    if (typeof value !== 'string') return value;
    return { true: true, '1': true, false: false, '0': false }[value] ?? value;
  });

const itemsOf = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);

/** Items separated by commas. */
export const List = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? itemsOf(value) : value));

/** Whole numbers without a sign, separated by commas. */
export const IntegerList = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string'
      ? itemsOf(value).map((item) => (/^\d+$/.test(item) ? Number(item) : NaN))
      : value,
  );

/**
 * The class of one area's settings. Its fields have the names of variables, with their defaults, and rules of
 * class-validator; a field without a rule is not read from the environment.
 */
export type AreaClass = (new () => object) & {
  /** Finds what no rule of a single field finds. @param wrong whether a setting already has a problem */
  problems?: (settings: never, wrong: (name: string) => boolean) => string[];
  /** The heading under which operators find the area. */
  title?: string;
};

/** The fields of all areas together. */
export type SettingsOf<Areas extends readonly AreaClass[]> = Merged<InstanceType<Areas[number]>>;
type Merged<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** Names of the settings of an area: every field with a rule. */
export const namesOf = (area: AreaClass): string[] => [
  ...new Set(rulesOf(area).map(({ propertyName }) => propertyName)),
];

/** An empty variable counts as not set, because Kubernetes and compose files cannot unset one. */
const isSet = (value: unknown): boolean => value !== undefined && value !== '';

/** Whether a setting has no value: `undefined`, or an empty list. */
const isMissing = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.length === 0);

/**
 * Reads and checks the settings of all areas. Other variables, such as secrets of other programs, are ignored. The value
 * of NAME may be in the file that NAME_FILE names.
 * @param needed names of settings that the process cannot do without: always, or in production
 * @throws Error that names every wrong or missing variable, one per line, but never its value
 */
export function readSettings<Areas extends readonly AreaClass[]>(
  areas: Areas,
  variables: NodeJS.ProcessEnv,
  needed: { always: string[]; production: string[] },
): SettingsOf<Areas> {
  const { values, problems: unread } = withFiles(variables, areas.flatMap(namesOf));
  const read = areas.map((area) => {
    const given = namesOf(area).filter((name) => isSet(values[name]));
    const plain = Object.fromEntries(given.map((name) => [name, values[name]]));
    return plainToInstance(area, plain, { exposeDefaultValues: true });
  });
  // Areas may share a setting, whose problem is reported once.
  const problems = new Set(read.flatMap(describeProblems));
  const wrong = (name: string): boolean => [...problems].some((problem) => problem.startsWith(`${name} `));
  const settings = Object.assign({}, ...read) as SettingsOf<Areas> & Record<string, unknown>;
  for (const name of needed.always) if (isMissing(settings[name])) problems.add(`${name} is required`);
  for (const { problems: find } of areas)
    for (const problem of find?.(settings as never, wrong) ?? []) problems.add(problem);
  if (settings.NODE_ENV === 'production')
    for (const name of needed.production)
      if (isMissing(settings[name])) problems.add(`${name} is required in production`);
  // A value that could not be read is not missing as well.
  for (const name of unread.keys())
    for (const problem of problems) if (problem.startsWith(`${name} `)) problems.delete(problem);
  const all = [...unread.values(), ...problems];
  if (all.length > 0) throw new Error(`Configuration is wrong:\n  ${all.join('\n  ')}`);
  return settings;
}

const describeProblems = (area: object): string[] =>
  validateSync(area, { forbidUnknownValues: false }).map(({ property, constraints, value }) => {
    if (value === undefined) return `${property} is required`;
    const texts = Object.values(constraints ?? {});
    return `${property} ${texts
      .map((text) => text.replace(`${property} `, '').replace('each value in ', ''))
      .join(', ')}`;
  });

import 'reflect-metadata';
import { isBoolean, isInt } from 'class-validator';
import { rulesOf } from '#platform/foreign/class-validator-internals';
import { type AreaClass, namesOf } from './settings';

export type Reader = 'API' | 'indexer' | 'keeper' | 'verify' | 'migrations';

interface Facts {
  /** The processes that act by it. */
  readBy: 'all' | readonly Reader[];
  /** What a value looks like, where its rules do not say it. */
  form?: string;
  /** A value for `.env.example`, where a line that is active would be wrong: no default, or one of `npm start`. */
  example?: string;
  /** What holds while it is not set, in words, where the field has no default or one that says little. */
  unset?: string;
}

export interface SettingFacts extends Facts {
  name: string;
  about: string;
  form: string;
}

const KEY = Symbol('setting');

/**
 * Says of a setting what operators read in `docs/configuration.md` and `.env.example`, which `npm run generate` writes.
 * @param about what it does, as a line of Markdown
 */
export const Setting =
  (about: string, facts: Facts): PropertyDecorator =>
  (target, name) =>
    Reflect.defineMetadata(KEY, { about, ...facts }, target, name);

/** @throws Error for a setting without `@Setting`, or of whose values neither that nor a rule tells the form */
export const factsOf = (area: AreaClass): SettingFacts[] =>
  namesOf(area).map((name) => {
    const facts = Reflect.getMetadata(KEY, area.prototype as object, name) as
      (Facts & { about: string }) | undefined;
    if (!facts) throw new Error(`${area.name}.${name} has no @Setting`);
    const form = facts.form ?? formOf(area, name);
    if (!form) throw new Error(`${area.name}.${name} has neither a form nor rules that tell it`);
    return { ...facts, name, form };
  });

/** What the rules of whole numbers, flags and choices say. */
function formOf(area: AreaClass, name: string): string | undefined {
  const rules = new Map(
    rulesOf(area)
      .filter(({ propertyName }) => propertyName === name)
      .map((rule) => [rule.name, rule.constraints as unknown[] | undefined]),
  );
  const bound = (rule: string): string => String(rules.get(rule)?.[0]);
  const choices = rules.get('isIn')?.[0] as string[] | undefined;
  if (rules.has(isBoolean.name)) return '`true` or `false`';
  if (choices && choices.length > 0) return choices.map((choice) => `\`${choice}\``).join(', ');
  if (!rules.has(isInt.name)) return undefined;
  return rules.has('max') ? `${bound('min')} to ${bound('max')}` : `from ${bound('min')}`;
}

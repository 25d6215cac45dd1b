import { isBoolean, isInt } from 'class-validator';
import { type AreaClass, FACTS, type Facts, namesOf } from '#platform/config/settings';
import { rulesOf } from '#platform/foreign/class-validator-internals';
import { AREAS } from '#settings/environment';
import { table } from './markdown';

interface SettingFacts extends Facts {
  name: string;
  about: string;
  form: string;
}

/** @throws Error if a setting has no `@Setting`, or neither that nor its rules describe the form of its values */
export const factsOf = (area: AreaClass): SettingFacts[] =>
  namesOf(area).map((name) => {
    const facts = Reflect.getMetadata(FACTS, area.prototype as object, name) as
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

interface Group {
  title: string;
  settings: (SettingFacts & { value: unknown })[];
}

/** Every setting once, under the heading of its area: the general ones first. */
export function groups(areas: readonly AreaClass[] = AREAS): Group[] {
  const known = new Set<string>();
  return areas.flatMap((area) => {
    if (!area.title) throw new Error(`${area.name} has no title`);
    const defaults = new area() as Record<string, unknown>;
    const settings = factsOf(area)
      .filter(({ name }) => !known.has(name) && known.add(name))
      .map((facts) => ({ ...facts, value: defaults[facts.name] }));
    return settings.length > 0 ? [{ title: area.title, settings }] : [];
  });
}

/** The tables of docs/configuration.md. */
export const settingTables = (): string =>
  groups()
    .map(({ title, settings }) => {
      const rows = settings.map((each) => [
        `\`${each.name}\``,
        each.unset ?? `\`${asVariable(each.value)}\``,
        each.form,
        each.readBy === 'all' ? 'all' : each.readBy.join(', '),
        each.about,
      ]);
      return `## ${title}\n\n${table(['name', 'default', 'form', 'read by', 'what'], rows)}`;
    })
    .join('\n\n');

/** `.env.example`. Lines of settings that have an example are no active ones. */
export const envExample = (): string =>
  `# Written by \`npm run generate\` from the classes of the settings; docs/configuration.md says more.
# Every variable NAME may be given as NAME_FILE instead: the path of a file with its value, as secrets are mounted.
${groups()
  .map(
    ({ title, settings }) =>
      `\n## ${title}\n${settings
        .map((each) => {
          const about = withoutLinks(each.about).slice(0, -1);
          const unset = each.unset ? `; unset: ${withoutLinks(each.unset)}` : '';
          const line =
            each.example === undefined
              ? `${each.name}=${asVariable(each.value)}`
              : `# ${each.name}=${each.example}`;
          return `\n# ${about} (${withoutLinks(each.form)})${unset}\n${line}\n`;
        })
        .join('')}`,
  )
  .join('')}`;

const withoutLinks = (text: string): string => text.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1');

const asVariable = (value: unknown): string => (Array.isArray(value) ? value.join(',') : String(value));

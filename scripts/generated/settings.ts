import { type AreaClass, type SettingFacts, factsOf } from '#platform/config/settings';
import { AREAS } from '#settings/environment';
import { table } from './markdown';

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

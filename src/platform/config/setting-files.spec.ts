import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { IsOptional, Matches, MinLength } from 'class-validator';
import { misspelt } from './setting-files';
import { readSettings } from './settings';

class Area {
  @MinLength(8) JWT_SECRET: string;
  @IsOptional() @Matches(/^redis:/) REDIS_URL?: string;
  @Matches(/^\w+$/) HOST = 'anywhere';
}

describe('a setting in a file', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'settings-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = (name: string, text: string): string => {
    const target = path.join(folder, name);
    writeFileSync(target, text);
    return target;
  };
  const read = (variables: NodeJS.ProcessEnv): Area =>
    readSettings([Area] as const, variables, { always: ['JWT_SECRET'], production: [] });

  it.each(['twelve bytes', 'twelve bytes\n', 'twelve bytes\r\n'])('is what the file holds: %j', (text) => {
    expect(read({ JWT_SECRET_FILE: file('secret', text) })).toMatchObject({
      JWT_SECRET: 'twelve bytes',
      HOST: 'anywhere',
    });
    expect(read({ JWT_SECRET: text }).JWT_SECRET).toBe('twelve bytes');
  });

  it('keeps blanks and earlier line breaks, which a secret may have', () => {
    expect(read({ JWT_SECRET_FILE: file('secret', ' two\nlines \n\n') }).JWT_SECRET).toBe(' two\nlines \n');
  });

  it('obeys the rules of the setting', () => {
    expect(() => read({ JWT_SECRET_FILE: file('short', 'hidden') })).toThrow(
      /^Configuration is wrong:\n {2}JWT_SECRET must be longer than or equal to 8 characters$/,
    );
  });

  it('is reported once when it cannot be read, is empty, or is set twice', () => {
    const none = path.join(folder, 'none');
    expect(() => read({ JWT_SECRET_FILE: none })).toThrow(/:\n {2}JWT_SECRET_FILE cannot be read: ENOENT$/);
    expect(() => read({ JWT_SECRET_FILE: folder })).toThrow(/:\n {2}JWT_SECRET_FILE cannot be read: EISDIR$/);
    expect(() => read({ JWT_SECRET_FILE: file('empty', '\n') })).toThrow(
      /:\n {2}JWT_SECRET_FILE names an empty file$/,
    );
    expect(() => read({ JWT_SECRET: 'a', JWT_SECRET_FILE: file('secret', 'b') })).toThrow(
      /:\n {2}JWT_SECRET and JWT_SECRET_FILE are both set$/,
    );
  });

  it('is not looked for when the variable is empty, as in compose files', () => {
    expect(read({ JWT_SECRET: 'twelve bytes', JWT_SECRET_FILE: '' }).JWT_SECRET).toBe('twelve bytes');
  });
});

describe('a variable that is almost a setting', () => {
  const names = ['RATE_LIMIT_AUTH', 'RATE_LIMIT_GENERAL', 'JWT_SECRET', 'HOST', 'PORT'];
  const told = (name: string, others: NodeJS.ProcessEnv = {}): string[] =>
    misspelt({ [name]: '1', ...others }, names);

  it.each([
    ['RATE_LIMT_AUTH', 'RATE_LIMIT_AUTH'],
    ['RATE_LIMITS_AUTH', 'RATE_LIMIT_AUTH'],
    ['RATELIMIT_GENERAL', 'RATE_LIMIT_GENERAL'],
    ['JWT_SECERT', 'JWT_SECRET'],
    ['JWT_SECRET_FIEL', 'JWT_SECRET_FILE'],
  ])('is reported: %s', (name, meant) => {
    expect(told(name)).toEqual([`${name} is no setting and has no effect. Is ${meant} meant?`]);
  });

  it.each(['RATE_LIMIT_AUTH', 'JWT_SECRET_FILE', 'HOME', 'PATH', 'HOSTNAME', 'RATE_LIMIT', 'SORT'])(
    'is not %s',
    (name) => expect(told(name)).toEqual([]),
  );

  it('is not reported when what is meant is set', () => {
    expect(told('JWT_SECRETS', { JWT_SECRET: 'x' })).toEqual([]);
  });
});

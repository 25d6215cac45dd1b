import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import * as types from '#values/types';

/** What `test/support/run` changes of jest: without it each file would load the whole service for itself. */
describe('a test file', () => {
  it('has the globals of the process, so that what is shared knows its errors and arrays', () => {
    const read = (): unknown => readFileSync('/nowhere');
    expect(read).toThrow(Error);
    expect(Object.getPrototypeOf(process.argv)).toBe(Array.prototype);
  });

  it('can hold its clock still without those who wait by node:timers', async () => {
    jest.useFakeTimers();
    try {
      await wait(1);
      const called = jest.fn();
      setTimeout(called, 1000);
      expect(called).not.toHaveBeenCalled();
      jest.advanceTimersByTime(1000);
      expect(called).toHaveBeenCalled();
    } finally {
      jest.useRealTimers();
    }
  });

  it('shares the modules of the service, but for what it loads as a second version', async () => {
    const again = await import('#values/types');
    expect(again.POOL_TYPES).toBe(types.POOL_TYPES);
    let second: typeof types | undefined;
    await jest.isolateModulesAsync(async () => void (second = await import('#values/types')));
    expect(second!.POOL_TYPES).toEqual(types.POOL_TYPES);
    expect(second!.POOL_TYPES).not.toBe(types.POOL_TYPES);
  });

  it('loads packages that name files of their own with #', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'package-'));
    const own = join(folder, 'node_modules/own');
    try {
      mkdirSync(own, { recursive: true });
      const imports = { '#values/types': './inner.js' };
      writeFileSync(join(own, 'package.json'), JSON.stringify({ name: 'own', main: 'main.js', imports }));
      writeFileSync(join(own, 'main.js'), "module.exports = require('#values/types');");
      writeFileSync(join(own, 'inner.js'), "module.exports = 'inner';");
      expect(await import(own)).toMatchObject({ default: 'inner' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('leaves to the next one what it has found: environment, exit code, console, and what it spied on', async () => {
    type Environment = new (...given: object[]) => { moduleMocker: typeof jest; teardown(): Promise<void> };
    const OneContext = jest.requireActual<Environment>('../support/run/one-context.js');
    const projectConfig = { testEnvironmentOptions: {}, globals: {}, fakeTimers: {} };
    const { PATH, HOME } = process.env;
    const kept = (): unknown[] => [
      Reflect.get(process, 'exit'),
      process.exitCode,
      Reflect.get(console, 'log'),
    ];
    const before = kept();
    const file = new OneContext({ globalConfig: {}, projectConfig }, {});
    file.moduleMocker.spyOn(console, 'log').mockReturnValue(undefined);
    process.env.OWN = 'own';
    process.env.PATH = 'own';
    delete process.env.HOME;
    Object.assign(process, { exit: () => undefined, exitCode: 7 });
    await file.teardown();
    expect([process.env.OWN, process.env.PATH, process.env.HOME]).toEqual([undefined, PATH, HOME]);
    expect(kept()).toEqual(before);
  });
});

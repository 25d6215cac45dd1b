/** `test/support/run/one-context.js`, on which the order of test files would depend otherwise. */
describe('a test file', () => {
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

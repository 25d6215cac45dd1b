const { TestEnvironment } = require('jest-environment-node');
const { register } = require('prom-client');

/** What jest puts among the globals for a file. */
const isOfJest = (key) => typeof key === 'symbol' || key === 'expect';

/**
 * Tests run among the globals of their process, as production does, and not in a context of their own: else nothing that
 * is shared could tell its errors and arrays from theirs. What a file mocks or sets in the environment is put back behind
 * it.
 */
class OneContext extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    const { projectConfig } = config;
    this.global = globalThis;
    this.moduleMocker = new this.moduleMocker.constructor(globalThis);
    this.fakeTimers = undefined;
    // Of globals that it takes for the process's own, it would replace node:timers too, with which the tests wait.
    const global = new Proxy(globalThis, {});
    this.fakeTimersModern = new this.fakeTimersModern.constructor({ config: projectConfig, global });
    const { exit, exitCode, env } = process;
    this.before = { keys: new Set(Reflect.ownKeys(globalThis)), exit, exitCode, env: { ...env }, console };
  }

  async teardown() {
    const { keys, exit, exitCode, env, console: own } = this.before;
    this.moduleMocker.restoreAllMocks();
    register.resetMetrics();
    await super.teardown();
    Object.assign(process, { exit, exitCode });
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
    globalThis.console = own;
    for (const key of Reflect.ownKeys(globalThis))
      if (!keys.has(key) && isOfJest(key)) Reflect.deleteProperty(globalThis, key);
  }
}

module.exports = OneContext;

const { TestEnvironment } = require('jest-environment-node');
const { register } = require('prom-client');

/** What jest puts among the globals for a file. */
const isOfJest = (key) => typeof key === 'symbol' || key === 'expect';

/**
 * Tests run among the globals of their process, as production does, and not in a context of their own: else nothing that
 * is shared could tell its errors and arrays from theirs. What a file mocks is put back behind it.
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
    this.before = { keys: new Set(Reflect.ownKeys(globalThis)), exit: process.exit, console };
  }

  async teardown() {
    const { keys, exit, console: own } = this.before;
    this.moduleMocker.restoreAllMocks();
    register.resetMetrics();
    await super.teardown();
    process.exit = exit;
    globalThis.console = own;
    for (const key of Reflect.ownKeys(globalThis))
      if (!keys.has(key) && isOfJest(key)) Reflect.deleteProperty(globalThis, key);
  }
}

module.exports = OneContext;

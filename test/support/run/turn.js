const { availableParallelism, cpus } = require('node:os');
const { setTimeout: wait } = require('node:timers/promises');

/** How long is looked, and what share of that time has to be idle. */
const LOOK_MS = 200;
const IDLE = 0.2;
/** Others may use the machine all the time. */
const MOST_MS = 60_000;

/** Of all processors together: the time since the start, and of that the idle one. */
function times() {
  const each = cpus().map(({ times: { user, nice, sys, idle, irq } }) => [
    user + nice + sys + idle + irq,
    idle,
  ]);
  return each.reduce((sum, [all, idle]) => ({ all: sum.all + all, idle: sum.idle + idle }), {
    all: 0,
    idle: 0,
  });
}

async function idleShare() {
  const before = times();
  await wait(LOOK_MS);
  const after = times();
  const all = after.all - before.all;
  // Some containers do not tell.
  return all > 0 ? (after.idle - before.idle) / all : 1;
}

/**
 * Waits until a worker may begin a file. There are more workers than processors, because tests mostly wait; but on a slow
 * or busy machine they would keep each other from being in time. So the first ones, as many as processors, always go on,
 * and the others while there is idle time.
 */
async function turn(
  worker,
  { processors = availableParallelism(), share = idleShare, mostMs = MOST_MS } = {},
) {
  if (worker <= processors) return;
  const end = performance.now() + mostMs;
  while ((await share()) < IDLE && performance.now() < end);
}

module.exports = { turn };

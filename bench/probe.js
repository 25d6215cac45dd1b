// Preloaded into every measured process. Answers 'probe' with the CPU time that the process has used so far and, since
// the last answer, with the longest stall of its event loop and the longest work of its thread between two ticks. What
// a stall has beyond work is mostly a wait for a core.
const { openSync, readSync } = require('node:fs');

const TICK_MS = 1;
const text = Buffer.alloc(64);
let schedstat;
try {
  schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
} catch {
  // This is not Linux: all time counts as work.
}

/** CPU time of this thread, in ms. */
function workedMs(now) {
  if (schedstat === undefined) return now;
  return parseInt(text.latin1Slice(0, readSync(schedstat, text, 0, text.length, 0)), 10) / 1e6;
}

let last = performance.now();
let worked = workedMs(last);
let longest = { stallMs: 0, workMs: 0 };

function tick() {
  const now = performance.now();
  const work = workedMs(now);
  longest.stallMs = Math.max(longest.stallMs, now - last - TICK_MS);
  longest.workMs = Math.max(longest.workMs, work - worked);
  last = now;
  worked = work;
  setTimeout(tick, TICK_MS).unref();
}
tick();

process.on('message', (message) => {
  if (message !== 'probe') return;
  const { user, system } = process.cpuUsage();
  process.send({ cpuUs: user + system, ...longest });
  longest = { stallMs: 0, workMs: 0 };
});

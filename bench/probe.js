// Preloaded into every measured process. Answers 'probe' with the CPU time that the process has used so far and with
// the longest stall of its event loop since the last answer.
const { monitorEventLoopDelay } = require('node:perf_hooks');

const RESOLUTION_MS = 1;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();

process.on('message', (message) => {
  if (message !== 'probe') return;
  const { user, system } = process.cpuUsage();
  process.send({ cpuUs: user + system, stallMs: Math.max(0, delays.max / 1e6 - RESOLUTION_MS) });
  delays.reset();
});

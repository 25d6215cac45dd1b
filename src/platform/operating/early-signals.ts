import { constants } from 'node:os';

// The first process of a container has no default for signals: before it has a handler of its own, they would be lost.
// Entry files import this before all else, since loading is the longest part of a start.
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.on(signal, () => {
    if (process.listenerCount(signal) === 1) process.exit(128 + constants.signals[signal]);
  });

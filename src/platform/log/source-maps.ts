import * as nodeModule from 'node:module';

const { setSourceMapsSupport } = nodeModule as { setSourceMapsSupport?: (enabled: boolean) => void };

// Stack traces name lines of the .ts files. Entries import this before all that it holds for. Not by
// `--enable-source-maps`, which loads the maps of all packages too: 34 MB and a quarter more time to load on Node 24.
// Before Node 22.14 there is only that way.
if (setSourceMapsSupport) setSourceMapsSupport(true);
else process.setSourceMapsEnabled(true);

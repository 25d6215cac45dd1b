import * as nodeModule from 'node:module';

const { setSourceMapsSupport } = nodeModule as { setSourceMapsSupport?: (enabled: boolean) => void };

// Makes stack traces name lines of the .ts files. It holds only for what is loaded later, so entry files import it
// first. Node's `--enable-source-maps` would load the maps of all packages too: 34 MB and a quarter more time to load
// on Node 24. Before Node 22.14 only that way exists, and is taken.
if (setSourceMapsSupport) setSourceMapsSupport(true);
else process.setSourceMapsEnabled(true);

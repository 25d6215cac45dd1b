import dapp from '../../../../examples/dapp/vite.config.js';

const source = (file) => `${import.meta.dirname}/../../../../client/src/${file}.ts`;

export default {
  preview: dapp.preview,
  resolve: {
    alias: [
      { find: /^@pooled-savings\/client$/, replacement: source('index') },
      { find: /^@pooled-savings\/client\/(\w+)$/, replacement: source('$1') },
    ],
  },
};

const source = (file) => `${import.meta.dirname}/../../../../client/src/${file}.ts`;

export default {
  resolve: {
    alias: [
      { find: /^@pooled-savings\/client$/, replacement: source('index') },
      { find: /^@pooled-savings\/client\/(\w+)$/, replacement: source('$1') },
    ],
  },
};

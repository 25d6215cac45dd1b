import { type Refusal, refusalOf } from './refusals';

/** Texts as providers and nodes write them. */
const TEXTS: [string, string, Refusal][] = [
  [
    'Alchemy, free',
    'Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x1180fca, 0x1180fd3]. Upgrade to PAYG for expanded block range.',
    { of: 'range', blocks: 10 },
  ],
  [
    'Alchemy, results',
    'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x0, 0x79bcb3]',
    { of: 'results', blocks: 0x79bcb4, results: 10_000 },
  ],
  [
    'Alchemy, time',
    'Query timeout exceeded. Consider reducing your block range. Based on your parameters and the response size limit, this block range should work: [0x5223c98, 0x5223e80]',
    { of: 'results', blocks: 489, results: undefined },
  ],
  [
    'Infura, results',
    'query returned more than 10000 results. Try with this block range [0x1, 0x20].',
    { of: 'results', blocks: 32, results: 10_000 },
  ],
  ['Infura, range', 'range 1000000 exceeds limit of 10000', { of: 'range', blocks: 10_000 }],
  ['QuickNode', 'eth_getLogs is limited to a 10,000 range', { of: 'range', blocks: 10_000 }],
  ['QuickNode, discover', 'eth_getLogs is limited to a 5 range', { of: 'range', blocks: 5 }],
  ['BlockPI', 'eth_getLogs is limited to 1024 block range.', { of: 'range', blocks: 1024 }],
  ['Ankr', 'block range is too wide', { of: 'range', blocks: undefined }],
  ['Ankr, TAC', 'maximum [from, to] blocks distance: 2000', { of: 'range', blocks: 2000 }],
  ['dRPC', 'ranges over 10000 blocks are not supported on free plan', { of: 'range', blocks: 10_000 }],
  ['dRPC, results', 'query returns too many logs', { of: 'results', blocks: undefined, results: undefined }],
  ['Chainstack', 'Block range limit exceeded. See more details', { of: 'range', blocks: undefined }],
  ['publicnode', 'exceed maximum block range: 50000', { of: 'range', blocks: 50_000 }],
  ['Cloudflare', 'Max range: 800', { of: 'range', blocks: 800 }],
  ['thirdweb', 'Maximum allowed number of requested blocks is 1000', { of: 'range', blocks: 1000 }],
  [
    'Avalanche',
    'requested too many blocks from 0 to 5000000, maximum is set to 2048',
    { of: 'range', blocks: 2048 },
  ],
  ['Moonbeam', 'block range is too wide (maximum 1024)', { of: 'range', blocks: 1024 }],
  [
    'Morph',
    'block range is larger than max block range, block range = 5120, max block range = 5000',
    { of: 'range', blocks: 5000 },
  ],
  ['Base', 'please limit the query to at most 1,000 blocks', { of: 'range', blocks: 1000 }],
  ['Blast', 'range exceeds the range allowed for your plan (5000 > 2000)', { of: 'range', blocks: 2000 }],
  ['Merkle', 'eth_getLogs range is too large, max is 1k blocks', { of: 'range', blocks: 1000 }],
  ['Harmony', 'query must be smaller than size 1024', { of: 'range', blocks: 1024 }],
  ['Somnia', 'block range exceeds 1000', { of: 'range', blocks: 1000 }],
  ['Pocket', 'query exceeds max block range 10000', { of: 'range', blocks: 10_000 }],
  [
    'Pocket, in words of its own',
    'query block range exceeds server limit, narrow your filter: 5000',
    { of: 'range', blocks: 5000 },
  ],
  ['a sentence', 'you may read up to 5 blocks', { of: 'range', blocks: 5 }],
  ['another', 'retry with the range 3600741-3600745', { of: 'range', blocks: 5 }],
  [
    'Arbitrum',
    'logs matched by query exceeds limit of 10000',
    { of: 'results', blocks: undefined, results: 10_000 },
  ],
  ['llamarpc', 'query exceeds max results 20000', { of: 'results', blocks: undefined, results: undefined }],
  ['Optimism', 'backend response too large', { of: 'results', blocks: undefined, results: undefined }],
  ['a node that is behind', 'block range extends beyond current head block', { of: 'unknown' }],
  ['a node that lacks blocks', 'invalid block range', { of: 'unknown' }],
  ['any failure', 'internal error', { of: 'unknown' }],
  ['numbers that are none', 'limited to 0 blocks', { of: 'unknown' }],
  ['a range that is none', 'Try with this block range [0x9, 0x1]', { of: 'range', blocks: undefined }],
];

describe('what a provider tells by refusing logs', () => {
  it.each(TEXTS)('%s', (_, text, refusal) => expect(refusalOf(text)).toEqual(refusal));

  it('is looked for at the beginning of its text only', () => {
    expect(refusalOf(`${' '.repeat(1000)}limited to 5 blocks`)).toEqual({ of: 'unknown' });
  });
});

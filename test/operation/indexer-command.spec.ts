import { readCommand } from '../../src/indexer';

describe('the command line of the indexer', () => {
  const contract = '0xABcdefabcdefabcdefabcdefabcdefabcdefabcd';
  const rewind = { name: 'rewind', to: 5, contract: contract.toLowerCase() };

  it.each([
    ['', undefined],
    ['rewind --to 5', { name: 'rewind', to: 5 }],
    [`rewind --contract ${contract} --to 5`, rewind],
    [`rewind --to 5 --contract ${contract}`, rewind],
    [`rewind --contract ${contract}`, { name: 'rewind', contract: contract.toLowerCase() }],
    ['replay', { name: 'replay', json: false }],
    ['replay --json', { name: 'replay', json: true }],
    ['set-aside', { name: 'set-aside', limit: 100, json: false }],
    ['set-aside --json', { name: 'set-aside', limit: 100, json: true }],
    ['records --limit 3 --json', { name: 'records', limit: 3, json: true }],
    [
      `adapter --abi my x.json --address ${contract} --as individual:savings --from 7`,
      {
        name: 'adapter',
        abi: 'my x.json',
        address: contract.toLowerCase(),
        as: 'individual:savings',
        from: 7,
      },
    ],
    [
      `adapter --abi x.json --address ${contract}`,
      { name: 'adapter', abi: 'x.json', address: contract.toLowerCase() },
    ],
  ])('reads "%s"', (line, command) => {
    expect(readCommand(line.split(' ').filter(Boolean))).toEqual(command);
  });

  it.each([
    'rewind',
    'rewind --to x',
    'rewind --to 5 ',
    `rewind --contract ${contract} `,
    `rewind --contract ${contract}--to 5`,
    'rewind --to 5 --contract 0x12',
    `rewind --contract ${contract} --to 5 --contract ${contract}`,
    'replay --to 5',
    'records --limit',
    'records --json --limit 3',
    'adapter --abi x.json',
    `adapter --abi x.json --address ${contract} --as savings:`,
    'follow',
  ])('refuses "%s" with its usage', (line) => {
    expect(() => readCommand(line.split(' '))).toThrow('usage: indexer');
  });
});

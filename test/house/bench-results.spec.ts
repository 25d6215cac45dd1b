import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { keep } from '../../bench/output';

describe('results of a benchmark', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'results-'));
  const file = path.join(folder, 'results.json');
  beforeEach(() => {
    writeFileSync(file, '"earlier"');
    jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => rmSync(folder, { recursive: true }));

  it('are written of a whole run', () => {
    keep(file, [1], { quick: false, only: '' });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual([1]);
  });

  it.each([{ quick: true }, { only: 'GET /pools' }, { service: 'old/main.js' }])(
    'are not written over those of one by %j',
    (options) => {
      keep(file, [1], options);
      expect(readFileSync(file, 'utf8')).toBe('"earlier"');
    },
  );
});

const { default: TestSequencer } = require('@jest/test-sequencer');

/** They take minutes, and are small. */
const LONGEST = [
  'test/verify/verify-columns.e2e-spec.ts',
  'test/contracts/contracts-invariants.spec.ts',
  'test/browser/docs.browser-spec.ts',
  'test/indexer/replaying/replay.e2e-spec.ts',
];

/** In a fresh clone jest knows no times and begins with the largest files: these would end long after all others. */
class LongestFirst extends TestSequencer {
  sort(tests) {
    const isLong = ({ path }) => LONGEST.some((file) => path.endsWith(`/${file}`));
    const sorted = super.sort(tests);
    return [...sorted.filter(isLong), ...sorted.filter((test) => !isLong(test))];
  }
}

module.exports = LongestFirst;
module.exports.LONGEST = LONGEST;

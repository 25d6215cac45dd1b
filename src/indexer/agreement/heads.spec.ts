import { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { judgeHeads, judgeMarks } from './heads';

const GENESIS = {
  number: '0x0',
  hash: `0x${'0'.repeat(64)}`,
  parentHash: `0x${'0'.repeat(64)}`,
  timestamp: '0x0',
};

/** An endpoint whose head the test says. */
async function endpoint(
  name: string,
  head: number,
): Promise<{ at(head: number): Promise<void> } & WatchedEndpoint> {
  const made = new WatchedEndpoint(
    { url: 'http://127.0.0.1:1', headers: {}, name },
    [],
    () => undefined,
    () => undefined,
  );
  jest.spyOn(made.source.rpc, 'batch').mockResolvedValue(['0x1', GENESIS]);
  const at = async (number: number): Promise<void> => {
    const head = {
      ...GENESIS,
      number: `0x${number.toString(16)}`,
      hash: `0x${`${number}`.padStart(64, '0')}`,
    };
    jest.spyOn(made.source.rpc, 'settled').mockResolvedValue([head]);
    await made.probe();
  };
  await at(head);
  return Object.assign(made, { at });
}

const later = (ms: number): unknown => jest.setSystemTime(Date.now() + ms);

it.each([
  ['none', null],
  ['another one', { ...GENESIS, number: '0x7' }],
])('an endpoint that sends %s as block 0 is reported as an unsupported chain', async (_, genesis) => {
  const made = await endpoint('one', 1);
  made.identity = undefined;
  jest.spyOn(made.source.rpc, 'batch').mockResolvedValue(['0x1', genesis]);
  await made.probe();
  expect([made.identity, made.error?.message]).toEqual([undefined, expect.stringMatching('not supported')]);
});

describe('heads', () => {
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] }));
  afterEach(() => void jest.useRealTimers());

  it('of a single endpoint are believed', async () =>
    expect(judgeHeads([await endpoint('a', 100)], 1)).toMatchObject({ upTo: 100, best: 100 }));

  it.each([
    ['the first', 900, 100],
    ['the second', 100, 900],
  ])('count as far as both of two have them, when %s is ahead', async (_, a, b) => {
    const both = [await endpoint('a', a), await endpoint('b', b)];
    expect(judgeHeads(both, 1)).toMatchObject({ upTo: 100, best: 100 });
    expect(both.map(({ state, heard }) => [state, heard])).toEqual([
      ['ok', true],
      ['ok', true],
    ]);
  });

  it('wait for one that goes on, however far behind and for however long', async () => {
    const [ahead, behind] = [await endpoint('a', 9000), await endpoint('b', 100)];
    for (let number = 100; number < 120; number += 1) {
      later(30_000);
      await ahead.at(9000 + 2 * number);
      await behind.at(number);
      expect(judgeHeads([ahead, behind], 1)).toMatchObject({ best: number });
      expect(behind.heard).toBe(true);
    }
  });

  it('do not wait for one that stands still for a minute while another goes on', async () => {
    const [moving, still] = [await endpoint('a', 200), await endpoint('b', 100)];
    later(60_000);
    await still.at(100);
    expect(judgeHeads([moving, still], 1)).toMatchObject({ upTo: 100 });
    later(1);
    await still.at(100);
    expect(judgeHeads([still, moving], 1)).toMatchObject({ reader: moving, upTo: 200, best: 200 });
    expect([still.state, still.heard]).toEqual(['lagging', false]);
    await still.at(150);
    expect(judgeHeads([still, moving], 1)).toMatchObject({ upTo: 150 });
  });

  it('are not kept from the chain by one that alone has more and cannot show it, however quiet the chain', async () => {
    const [quiet, claiming] = [await endpoint('a', 100), await endpoint('b', 900)];
    later(60_001);
    await quiet.at(100);
    await claiming.at(900);
    expect(judgeHeads([quiet, claiming], 1)).toMatchObject({ reader: claiming, best: 900 });
    claiming.failed('failing', true);
    expect(judgeHeads([quiet, claiming], 1)).toMatchObject({ reader: quiet, best: 100 });
    expect([quiet.state, quiet.heard]).toEqual(['ok', true]);
    // It may have been trouble that is over: the other one may be what stands still.
    later(1_000);
    expect(judgeHeads([quiet, claiming], 1)).toMatchObject({ reader: claiming, best: 900 });
  });

  it('do not let one that failed make another be believed alone', async () => {
    const [failed, ahead] = [await endpoint('a', 100), await endpoint('b', 900)];
    failed.failed('failing', true);
    expect(judgeHeads([failed, ahead], 1)).toMatchObject({ upTo: 100, best: 100 });
  });

  it('say how far the chain may go, whichever endpoint has read what', async () => {
    // The first was down and catches up: what was read meanwhile is not behind the chain.
    const [behind, ahead] = [await endpoint('a', 100), await endpoint('b', 900)];
    expect(judgeHeads([behind, ahead], 1)).toMatchObject({ reader: behind, best: 100, highest: 900 });
    ahead.failed('lying');
    expect(judgeHeads([behind, ahead], 1)).toMatchObject({ highest: 100 });
  });

  it('leave a liar for the last', async () => {
    const [liar, still] = [await endpoint('a', 900), await endpoint('b', 100)];
    liar.failed('lying');
    const third = await endpoint('c', 200);
    later(60_001);
    await third.at(201);
    await still.at(100);
    third.failed('failing', true);
    later(5_000);
    expect(judgeHeads([liar, still, third], 1)).toMatchObject({ reader: third });
    third.failed('failing', true);
    expect(judgeHeads([liar, still, third], 1)?.reader).toBe(still);
  });

  it('wait for the chain that stands still', async () => {
    const both = [await endpoint('a', 100), await endpoint('b', 100)];
    later(600_000);
    for (const each of both) await each.at(100);
    judgeHeads(both, 1);
    expect(both.map(({ heard }) => heard)).toEqual([true, true]);
  });

  it('of three count as far as two have them; the third lags after ten seconds', async () => {
    const all = [await endpoint('a', 100), await endpoint('b', 200), await endpoint('c', 900)];
    expect(judgeHeads(all, 1)).toMatchObject({ reader: all[0], best: 200, upTo: 100 });
    later(10_001);
    await all[0].at(150);
    expect(judgeHeads(all, 1)).toMatchObject({ reader: all[1], best: 200, upTo: 200 });
    expect(all.map(({ state }) => state)).toEqual(['lagging', 'ok', 'ok']);
  });

  it('count as far as the wanted number has them', async () => {
    const all = [await endpoint('a', 100), await endpoint('b', 200), await endpoint('c', 300)];
    expect(judgeHeads(all, 3)).toMatchObject({ best: 100 });
    expect(judgeHeads(all.slice(1), 3)).toBeUndefined();
  });
});

/** An endpoint that calls this block final, with a hash of its own. */
const says = (number?: number, hash = `${number}`) => ({
  tagged: number === undefined ? {} : { finalized: { number, hash, parentHash: '', time: 0 } },
});
const finalized = (endpoints: ReturnType<typeof says>[], agree = 1): unknown =>
  judgeMarks(endpoints, agree).finalized?.number;

describe('the last final block', () => {
  it.each([
    ['that of the only endpoint', [says(7)], 1, 7],
    ['that of the second of two, when one is ahead', [says(90), says(7)], 1, 7],
    ['that of two of three, when one lies ahead', [says(7), says(90), says(8)], 1, 8],
    ['that of two of three, when one is behind', [says(7), says(1), says(7)], 1, 7],
    ['that of so many as have to agree', [says(7), says(8), says(9)], 3, 7],
    ['unknown when one of two says nothing', [says(7), says()], 1, undefined],
    ['that of two of three, when one says nothing', [says(7), says(), says(9)], 1, 7],
    ['unknown when none says it', [says(), says()], 1, undefined],
    ['unknown without endpoints', [], 1, undefined],
  ])('is %s', (_, endpoints, agree, expected) => expect(finalized(endpoints, agree)).toBe(expected));

  it('has the hash of any endpoint that names it', () =>
    expect(judgeMarks([says(7, 'a'), says(9), says(7, 'b')], 2).finalized?.hashes).toEqual(['a', 'b']));
});

import type { Heads } from '#indexer/agreement/heads';
import type { Reading } from '#indexer/agreement/rpc-endpoints';
import { WINDOW_BLOCKS, NodeBehind } from '#indexer/reading/block-batch';
import type { Block } from '#indexer/reading/raw-chain';
import { RpcUnavailable } from '#indexer/reading/rpc';
import { ReadAhead } from './read-ahead';

const CONTRACTS = ['0xc'];
const HEAD = 10_000;
const blockOf = (number: number, branch = ''): Block => ({
  number,
  hash: `0x${branch}${number}`,
  parentHash: `0x${branch}${number - 1}`,
  time: number,
});

interface Asked {
  after: Block;
  to: number;
  answer: (events?: number) => void;
  refuse: (error: Error) => void;
}

describe('ranges that are read ahead', () => {
  let size: number;
  let asked: Asked[];
  let headers: number[];
  let branch: string;
  let ahead: ReadAhead;
  let heads: number;
  let now: number;
  /** Lets all that follows from the last answer happen. */
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  beforeEach(() => {
    [size, asked, headers, branch, heads, now] = [10, [], [], '', 0, 0];
    const plan = (after: Pick<Block, 'number'>, upTo: number) => {
      const final = upTo - WINDOW_BLOCKS;
      const to = Math.min(after.number < final ? final : upTo, after.number + size);
      return { to, linked: to > final, near: to > final };
    };
    ahead = new ReadAhead(
      {
        plan,
        headers: (numbers) => {
          headers.push(...numbers);
          return Promise.resolve(numbers.map((number) => blockOf(number, branch)));
        },
        read: (after, { to }, contracts) =>
          new Promise<Reading>((resolve, reject) => {
            const answer = (events = 0): void =>
              resolve({
                batch: { to: blockOf(to), blocks: [], events: Array(events), contracts, counts: [] },
              } as unknown as Reading);
            asked.push({ after, to, answer, refuse: reject });
          }),
        askForHeads: () => {
          heads += 1;
          return Promise.resolve({ upTo: HEAD } as Heads);
        },
      },
      () => now,
    );
  });

  /** Takes one range after another. @returns their last blocks */
  async function read(from: Block, ranges: number, events = 0): Promise<Block> {
    let at = from;
    for (let i = 0; i < ranges; i += 1) {
      const reading = ahead.take(at, HEAD, CONTRACTS);
      await settle();
      for (const each of asked) each.answer(events);
      const { batch } = await reading;
      ahead.prepare(batch.to, HEAD, CONTRACTS);
      at = batch.to;
      await settle();
    }
    return at;
  }

  /** Takes the next ranges again, none of which is answered yet. */
  async function begin(at: Block): Promise<() => Promise<Reading>> {
    ahead.clear();
    asked = [];
    const reading = ahead.take(at, HEAD, CONTRACTS);
    await settle();
    return () => reading;
  }

  it('become more while all goes well, up to a bound, each from the header before it', async () => {
    const at = await read(blockOf(0), 20);
    expect(at.number).toBe(200);
    asked = [];
    void ahead.take(at, HEAD, CONTRACTS);
    await settle();
    // None is read twice, and none is left out.
    const all = asked.map(({ after }) => after.number);
    expect(new Set(all).size).toBe(all.length);
    expect(headers).toEqual([...headers].sort((a, b) => a - b));
    expect(Math.max(...headers) + 10 - at.number).toBeLessThanOrEqual(90);
    expect(Math.max(...headers) - at.number).toBeGreaterThanOrEqual(60);
  });

  it('wait for one that fails, however long, and are not read again', async () => {
    const at = await read(blockOf(0), 20);
    const first = await begin(at);
    const others = asked.slice(1);
    expect(others.length).toBeGreaterThan(3);
    for (const each of [...others].reverse()) each.answer(1);
    await settle();
    const failure = new RpcUnavailable('down');
    asked[0].refuse(failure);
    await expect(first()).rejects.toBe(failure);
    ahead.failed(failure);
    for (let i = 0; i < 5; i += 1) {
      asked = [];
      const again = ahead.take(at, HEAD, CONTRACTS);
      expect(asked.map(({ after, to }) => [after.number, to])).toEqual([[at.number, at.number + 10]]);
      asked[0].refuse(failure);
      await expect(again).rejects.toBe(failure);
      ahead.failed(failure);
    }
    asked = [];
    const last = ahead.take(at, HEAD, CONTRACTS);
    asked[0].answer();
    let { batch } = await last;
    const taken: number[] = [];
    for (const each of others) {
      expect(ahead.has(batch.to)).toBe(true);
      ({ batch } = await ahead.take(batch.to, HEAD, CONTRACTS));
      taken.push(batch.to.number);
      expect(batch.to.number).toBe(each.to);
    }
    expect(asked.map(({ after }) => after.number)).not.toContain(others[0].after.number);
  });

  it('that fail leave a gap, which is read up to the next range, even if larger ones are possible then', async () => {
    const at = await read(blockOf(0), 20);
    const first = await begin(at);
    const failure = new RpcUnavailable('down');
    asked[0].refuse(failure);
    await expect(first()).rejects.toBe(failure);
    ahead.failed(failure);
    [asked, size] = [[], 1000];
    const gap = ahead.take(at, HEAD, CONTRACTS);
    expect([asked[0].after.number, asked[0].to]).toEqual([at.number, at.number + 10]);
    asked[0].answer();
    expect(ahead.has((await gap).batch.to)).toBe(true);
  });

  it('of another branch than the ledger came to are read again', async () => {
    branch = 'f';
    const at = await read(blockOf(0), 1);
    asked.at(-1)!.answer();
    await expect(ahead.take(at, HEAD, CONTRACTS)).rejects.toThrow(NodeBehind);
    ahead.failed(new NodeBehind('of another branch'));
    asked = [];
    void ahead.take(at, HEAD, CONTRACTS);
    await settle();
    expect(asked[0].after).toEqual(at);
  });

  it('are forgotten after trouble with what was read, and when the contracts change', async () => {
    const at = await read(blockOf(0), 20);
    expect(ahead.has(at)).toBe(true);
    ahead.failed(new NodeBehind('two endpoints differ'));
    expect(ahead.has(at)).toBe(false);
    ahead.prepare(at, HEAD, CONTRACTS);
    asked = [];
    void ahead.take(at, HEAD, [...CONTRACTS, '0xd']);
    expect(asked.map(({ after }) => after.number)).toContain(at.number);
  });

  it('hold no more events than there is room for, whatever comes', async () => {
    const at = await read(blockOf(0), 20);
    await begin(at);
    // A dense region after a sparse one.
    const most = asked.length;
    expect(most).toBeGreaterThan(5);
    for (const each of asked) each.answer(30_000);
    await settle();
    expect(asked).toHaveLength(most);
    // The next one is kept, however large it is; the furthest are read again.
    asked[0].answer();
    expect(ahead.has(blockOf(asked[1].after.number))).toBe(true);
    const end = await read(at, 2, 30_000);
    expect(end.number).toBe(at.number + 20);
    expect(asked.filter(({ after }) => after.number === at.number + 20)).toHaveLength(2);
  });

  it('end where the last blocks begin', async () => {
    size = 1000;
    await read(blockOf(0), 9);
    expect(Math.max(...asked.map(({ to }) => to))).toBeLessThanOrEqual(HEAD - WINDOW_BLOCKS);
    void ahead.take(blockOf(HEAD - WINDOW_BLOCKS), HEAD, CONTRACTS);
    await settle();
    expect(asked.filter(({ after }) => after.number >= HEAD - WINDOW_BLOCKS)).toHaveLength(1);
  });

  it('ask for heads now and then while final blocks are read, and each time at the head', async () => {
    for (let i = 0; i < 50; i += 1) {
      await ahead.askForHeads(blockOf(0), CONTRACTS);
      now += 100;
      await settle();
    }
    expect(heads).toBe(5);
    for (let i = 0; i < 5; i += 1) await ahead.askForHeads(blockOf(HEAD - 5), CONTRACTS);
    expect(heads).toBe(10);
    ahead.failed(new RpcUnavailable('down'));
    await ahead.askForHeads(blockOf(0), CONTRACTS);
    expect(heads).toBe(11);
  });
});

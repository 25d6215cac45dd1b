interface Options {
  processors: number;
  share: () => Promise<number>;
  mostMs?: number;
}
const { turn } = jest.requireActual<{ turn: (worker: number, options: Options) => Promise<void> }>(
  '../support/run/turn.js',
);

describe('the turn of a worker', () => {
  const asked = async (worker: number, shares: number[], mostMs?: number): Promise<number> => {
    let times = 0;
    const share = (): Promise<number> => Promise.resolve(shares[Math.min(times++, shares.length - 1)]);
    await turn(worker, { processors: 2, share, mostMs });
    return times;
  };

  it('comes at once for the first ones, and for others with idle time', async () => {
    expect(await asked(1, [0])).toBe(0);
    expect(await asked(2, [0])).toBe(0);
    expect(await asked(3, [0, 0.1, 0.3])).toBe(3);
  });

  it('comes also where others use the machine all the time', async () => {
    expect(await asked(3, [0], 1)).toBeGreaterThan(0);
  });
});

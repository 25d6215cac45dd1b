import { Outage } from './outage';

it('however long it lasts, connections are not tried one right after another', () => {
  const now = jest.spyOn(performance, 'now').mockReturnValue(0);
  try {
    const outage = new Outage();
    expect(outage.pause).toBeLessThanOrEqual(0);
    for (const time of [0, 5000, 10_000]) {
      now.mockReturnValue(time);
      outage.failed(new Error('refused'));
      expect(outage.pause).toBeGreaterThan(0);
    }
    expect(outage.isLong).toBe(true);
    now.mockReturnValue(10_200);
    expect(outage.pause).toBeLessThanOrEqual(0);
  } finally {
    now.mockRestore();
  }
});

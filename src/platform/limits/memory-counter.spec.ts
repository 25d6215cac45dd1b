import { clientKey } from '#platform/http/client-address';
import { type Count, MemoryCounter } from './memory-counter';

const WINDOW_MS = 900_000;
const LIMIT = 100;
/** The most records of one limit and address family, without those of the widest networks. */
const CAP = 85_000;

describe('MemoryCounter', () => {
  const realNow = Date.now;
  let now = 1_800_000_000_000;
  let counter: MemoryCounter;
  beforeEach(() => {
    counter = new MemoryCounter();
    // Without jest's mock, which would remember every call.
    Date.now = () => now;
  });
  afterEach(() => {
    Date.now = realNow;
    jest.restoreAllMocks();
  });

  const hit = (client: string): Count => counter.count(client, 'general', LIMIT, WINDOW_MS);
  const count = (ip: string, times = 1): Count => {
    for (let i = 1; i < times; i++) hit(clientKey(ip));
    return hit(clientKey(ip));
  };
  /** Sends one request from each of `networks` /64 networks of a /32. */
  const flood = (networks: number, block = '2001:db8'): void => {
    for (let i = 0; i < networks; i++)
      hit(`${block}:${(i >>> 16).toString(16)}:${(i & 0xffff).toString(16)}`);
  };
  const ipv4 = (i: number): string => [10 + (i >>> 24), (i >>> 16) & 255, (i >>> 8) & 255, i & 255].join('.');

  it('counts exactly below the cap', () => {
    flood(49_999);
    const client = '2a00:1:2:3::1';
    for (let i = 1; i <= 120; i++) expect(count(client)).toEqual({ hits: i, limit: LIMIT, secondsLeft: 900 });
    expect(count('2001:db8:0:5::9').hits).toBe(2);
    expect(counter.size).toBe(50_000);
  });

  it('holds a bounded number of records, whatever comes: 200,000 addresses of one network, and some of all', () => {
    flood(200_000);
    expect(counter.size).toBeLessThan(50_000 + 300);
    for (let i = 0; i < 150_000; i++) {
      const spread = Math.imul(i, 2_654_435_761) >>> 0;
      hit(`${(0x2000 + (spread >>> 19)).toString(16)}:${(spread & 0xffff).toString(16)}:1:1`);
    }
    // At most one more for each IPv6 /16.
    expect(counter.size).toBeLessThan(CAP + 8_193);
    for (let i = 0; i < 150_000; i++) hit(ipv4(Math.imul(i, 2_654_435_761) >>> 0));
    expect(counter.size).toBeLessThan(2 * CAP + 8_193 + 256);
  });

  it('leaves those who were there before their count, and later ones one of their own', () => {
    const before = '2a00:1:2:3::1';
    const sameProvider = '2001:db8:ffff:1::1';
    expect([count(before, 99).hits, count(sameProvider, 40).hits]).toEqual([99, 40]);
    flood(100_000);
    expect(count(before)).toEqual({ hits: 100, limit: LIMIT, secondsLeft: 900 });
    expect(count(sameProvider).hits).toBe(41);
    for (const later of ['2a00:9:9:9::1', '2a00:9:9:a::1', '2600::1'])
      expect(count(later)).toEqual({ hits: 1, limit: LIMIT, secondsLeft: 900 });
    // The other address family is not affected.
    for (let i = 0; i < 1000; i++) expect(count(ipv4(i))).toMatchObject({ hits: 1, limit: LIMIT });
  });

  it('lets the owner of a /32 that fills it share with himself', () => {
    flood(50_256);
    let passed = 0;
    for (let i = 0; i < 10_000; i++) {
      const { hits, limit } = count(`2001:db8:8000:${i.toString(16)}::1`);
      if (hits <= limit) passed += 1;
    }
    // The limit of the single record of the /32.
    expect(passed).toBe(10 * LIMIT);
    expect(count('2001:db8:9000::1').limit).toBe(10 * LIMIT);
  });

  it('shares by the /32, once its clients have taken their part of the reserve', () => {
    flood(50_000, '2600:1');
    for (let i = 0; i < 256; i++) expect(count(`2001:db8:1:${i.toString(16)}::`).limit).toBe(LIMIT);
    expect(count('2001:db8:2:1::')).toMatchObject({ hits: 1, limit: 10 * LIMIT });
    expect(count('2001:db8:3::').hits).toBe(2);
    // Clients that have a record keep it.
    expect(count('2001:db8:1:0::')).toMatchObject({ hits: 2, limit: LIMIT });
    expect(count('2001:db9::').limit).toBe(LIMIT);
  });

  it('takes a new window of a client for its own, when the ended one before it is forgotten', () => {
    flood(100);
    const client = '2a00:1:2:3::1';
    count(client);
    now += WINDOW_MS;
    for (let i = 1; i <= 50; i++) expect(count(client).hits).toBe(i);
  });

  it('gives a network its share of the reserve again, when its windows have ended', () => {
    flood(50_000, '2600:1');
    const last = (): Count => count('2001:db8:127:ffff::1');
    const all = (): Count[] => Array.from({ length: 255 }, (_, i) => count(`2001:db8:${i.toString(16)}::`));
    for (let round = 0; round < 3; round++) {
      for (const { limit } of [...all(), last()]) expect(limit).toBe(LIMIT);
      expect(count('2001:db8:200::').limit).toBe(10 * LIMIT);
      now += WINDOW_MS;
      flood(50_000, `2600:${round + 2}`);
    }
  });

  it('does a bounded amount of work at each request, also when a full memory has ended', () => {
    let work = 0;
    let most = 0;
    const watched = (times: number, each: (i: number) => void): void => {
      for (let i = 0; i < times; i++) {
        work = 0;
        each(i);
        most = Math.max(most, work);
      }
    };
    const names = ['get', 'set', 'delete'] as const;
    const original = Object.fromEntries(
      names.map((name) => [name, Reflect.get(Map.prototype, name) as (...args: never[]) => unknown]),
    );
    const iterations = ['forEach', 'keys', 'values', 'entries', Symbol.iterator] as const;
    flood(100_000);
    const spies = iterations.map((name) => jest.spyOn(Map.prototype, name as 'keys'));
    try {
      for (const name of names)
        Object.assign(Map.prototype, {
          [name](this: Map<unknown, unknown>, ...args: [never, never]) {
            work += 1;
            return Reflect.apply(original[name], this, args);
          },
        });
      now += WINDOW_MS;
      watched(20_000, (i) => count(`2600:1:${i.toString(16)}::`));
      for (const spy of spies) expect(spy).not.toHaveBeenCalled();
    } finally {
      Object.assign(Map.prototype, original);
    }
    expect(most).toBeLessThan(60);
    // 20,000 requests were enough to forget all ended windows.
    expect(counter.size).toBe(20_000);
  });

  it('does not let a client start over by filling the memory, nor by emptying it', () => {
    const client = '2001:db8:aaaa:1::1';
    const other = '2a00:5:5:5::1';
    count(client, 150);
    now += 1000;
    flood(100_000);
    expect(count(client).hits).toBe(151);
    expect(count(other, 150).hits).toBe(150);
    now += WINDOW_MS - 1001;
    flood(100_000, '2600:2');
    expect(count(client).hits).toBe(152);
    now += 1;
    expect(count(client).hits).toBe(1);
    expect(count(other).hits).toBe(151);
    now += 1000;
    expect(count(other).hits).toBe(1);
    flood(100_000, '2600:3');
    expect(counter.size).toBeLessThan(51_000);
  });
});

import { atMostEvery } from './at-most-every';

let now = 0;
beforeEach(() => {
  now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => jest.restoreAllMocks());

it('calls share what is being made, however long that takes, and what was made less than so long ago', async () => {
  let made = 0;
  let finish = (): void => undefined;
  const get = atMostEvery(1000, async () => {
    await new Promise<void>((resolve) => (finish = resolve));
    return ++made;
  });
  const first = [get(), get()];
  now = 5000;
  first.push(get());
  finish();
  expect(await Promise.all(first)).toEqual([1, 1, 1]);
  // It is older than a second by now.
  const second = [get(), get()];
  now = 5500;
  finish();
  expect(await Promise.all(second)).toEqual([2, 2]);
  now = 5999;
  expect(await get()).toBe(2);
  now = 6000;
  const third = get();
  finish();
  expect(await third).toBe(3);
});

it('calls share an error as well, and the next making may succeed', async () => {
  let tries = 0;
  const get = atMostEvery(1000, async () => {
    if (++tries === 1) throw new Error('no');
    return tries;
  });
  const both = [get(), get()];
  for (const each of both) await expect(each).rejects.toThrow('no');
  await expect(get()).rejects.toThrow('no');
  now = 1000;
  expect(await get()).toBe(2);
});

it('calls share what hangs only while there is patience', async () => {
  let made = 0;
  let finish = (): void => undefined;
  const hung = new Promise<void>((resolve) => (finish = resolve));
  const get = atMostEvery(1000, async () => (++made === 1 ? hung : undefined), 2000);
  const first = get();
  now = 1999;
  void get();
  expect(made).toBe(1);
  now = 2000;
  await get();
  expect(made).toBe(2);
  finish();
  await first;
  now = 2999;
  await get();
  expect(made).toBe(2);
});

it('a clock that is set back keeps nothing', async () => {
  let made = 0;
  const get = atMostEvery(1000, async () => ++made);
  await get();
  jest.spyOn(Date, 'now').mockReturnValue(0);
  now = 1000;
  expect(await get()).toBe(2);
});

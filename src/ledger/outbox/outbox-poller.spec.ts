import { OutboxPoller } from './outbox-poller';

it('runs each task without waiting for another, and waits at a stop for what is under way', async () => {
  const poller = new OutboxPoller();
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const slow = jest.fn(() => held);
  const quick = jest.fn(() => Promise.resolve());
  poller.add('slow', slow);
  const leave = poller.add('quick', quick);
  while (quick.mock.calls.length < 3) {
    poller.hurry();
    await new Promise(setImmediate);
  }
  expect(slow).toHaveBeenCalledTimes(1);
  await leave();
  let isStopped = false;
  const stopping = poller.onModuleDestroy().then(() => (isStopped = true));
  await new Promise(setImmediate);
  expect(isStopped).toBe(false);
  release();
  await stopping;
  expect(slow).toHaveBeenCalledTimes(1);
});

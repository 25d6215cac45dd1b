import { type DevClient, connect, devAccount, execute, fund, read, receiptOf } from '#dev/deploy';
import { type Response, type SignedIn, until } from '../support/app';
import { useService } from '../support/chain/chain-bench';

const HOUR = 3600n;
const PRICE = 100n;

interface Call {
  to: `0x${string}`;
  data: `0x${string}`;
}

interface Entry {
  drawId: number;
  status: string;
  won: boolean;
  paid: boolean;
  refundable: string;
  due: string | null;
}

/** Rows of the table in contracts/README.md: people get their money by what the API tells them, on a real chain. */
const { bench, app, signIn } = useService();
const clients: DevClient[] = [];
const people: SignedIn[] = [];
let buyer: SignedIn;
let giver: SignedIn;

beforeAll(async () => {
  const { token, contracts } = bench.deployment;
  for (const index of [5, 6]) {
    const client = await connect(bench.anvil.url, devAccount(index));
    await fund(client, token, contracts.lottery, 10_000n);
    clients.push(client);
    people.push(await signIn(index));
  }
  [buyer, giver] = people;
  await bench.follow();
  await bench.atHead();
});

const clientOf = (who: SignedIn): DevClient => clients[people.indexOf(who)];
const entries = async (who: SignedIn): Promise<Entry[]> => (await app.get('/lottery/me', who)).body.data;
const tokens = (who: SignedIn): Promise<bigint> =>
  read(bench.owner, 'TestToken', bench.deployment.token, 'balanceOf', [who.address]);
/** Tells what the contract would pay back, and waits until the service tells the same. */
async function refundables(drawId: bigint): Promise<string[]> {
  await bench.atHead();
  const { lottery } = bench.deployment.contracts;
  const found: string[] = [];
  for (const who of people) {
    const wanted = await read<bigint>(bench.owner, 'LotteryPool', lottery, 'refundableOf', [
      drawId,
      who.address,
    ]);
    const isSo = (entry: Entry): boolean =>
      BigInt(entry.drawId) === drawId && entry.refundable === `${wanted}`;
    await until(async () => (await entries(who)).some(isSo));
    found.push(`${wanted}`);
  }
  return found;
}
const ask = (name: string, drawId: bigint, who: SignedIn): Promise<Response> =>
  app.get(`/lottery/calls/${name}?drawId=${drawId}`, who);
/** Sends what the API says, from the wallet of this person. */
async function send(name: string, drawId: bigint, who: SignedIn): Promise<string> {
  const { body } = await ask(name, drawId, who);
  const [{ to, data }] = body.data.calls as Call[];
  const hash = await clientOf(who).sendTransaction({ to, data });
  expect((await receiptOf(bench.owner, hash)).status).toBe('success');
  await told(hash);
  return hash;
}
const told = (hash: string): Promise<void> =>
  until(async () => (await app.sql('SELECT FROM chain_events WHERE tx_hash = $1', [hash])).length > 0);
const act = async (who: SignedIn, name: string, ...args: unknown[]): Promise<void> => {
  const { transactionHash } = await execute(
    clientOf(who),
    'LotteryPool',
    bench.deployment.contracts.lottery,
    name,
    args,
  );
  await told(transactionHash);
};
async function openDraw(): Promise<bigint> {
  const { timestamp } = await bench.owner.getBlock();
  await bench.lottery(bench.owner, 'openDraw', [PRICE, timestamp + HOUR]);
  return bench.currentDraw();
}
async function passTime(seconds: bigint, blocks = 1): Promise<void> {
  await bench.rpc('evm_increaseTime', Number(seconds));
  await bench.mine(blocks);
  await bench.atHead();
}

it('whoever paid into a cancelled draw gets it back, and a reorganisation takes that back too', async () => {
  const drawId = await openDraw();
  await act(buyer, 'buyTickets', drawId, 3n);
  await act(buyer, 'fundPrize', drawId, 7n);
  await act(buyer, 'fundPrize', drawId, 1n);
  await act(giver, 'fundPrize', drawId, 40n);
  expect(await refundables(drawId)).toEqual(['0', '0']);
  expect((await ask('refund', drawId, giver)).body.code).toBe('wrong_draw_status');
  await bench.lottery(bench.owner, 'cancelDraw', [drawId]);
  expect(await refundables(drawId)).toEqual(['308', '40']);
  expect((await entries(giver))[0]).toMatchObject({ tickets: 0, gifts: '40', due: 'refund' });

  const before = await tokens(buyer);
  await send('refund', drawId, buyer);
  expect(await refundables(drawId)).toEqual(['0', '40']);
  expect((await tokens(buyer)) - before).toBe(308n);
  expect((await ask('refund', drawId, buyer)).body.code).toBe('nothing_to_refund');

  const height = await bench.owner.getBlockNumber();
  await bench.rpc('anvil_reorg', 1, []);
  expect(await bench.owner.getBlockNumber()).toBe(height);
  expect(await refundables(drawId)).toEqual(['308', '40']);
  await send('refund', drawId, buyer);
  await send('refund', drawId, giver);
  expect(await refundables(drawId)).toEqual(['0', '0']);
  const [{ topics }] = await app.sql<{ topics: string[] }>(
    `SELECT array_agg(coalesce(e ->> 'reverted', '') || (e ->> 'topic') ORDER BY o.xid, o.position, n) AS topics
     FROM outbox o, json_array_elements(o.items) WITH ORDINALITY AS i(e, n)
     WHERE 'draw.refunded' IN (e ->> 'topic', e ->> 'reverted') AND e ->> 'account' = $1`,
    [buyer.address],
  );
  expect(topics).toEqual(['draw.refunded', 'draw.refundedtransaction.reverted', 'draw.refunded']);
});

it('a prize finds its winner, though nobody but a stranger acts', async () => {
  const drawId = await openDraw();
  await act(buyer, 'buyTickets', drawId, 1n);
  await passTime(HOUR);
  await bench.lottery(bench.owner, 'closeDraw', [drawId]);
  await bench.atHead();
  expect((await ask('complete', drawId, giver)).body.code).toBe('too_early');
  expect((await entries(buyer))[0]).toMatchObject({ status: 'DRAWING', due: null });
  await bench.mine(1);
  await bench.atHead();
  expect((await entries(buyer))[0]).toMatchObject({ due: 'complete' });
  await send('complete', drawId, giver);
  expect((await entries(buyer))[0]).toMatchObject({ won: true, paid: false, due: 'claim' });
  const before = await tokens(buyer);
  await send('claim', drawId, giver);
  expect((await tokens(buyer)) - before).toBe(PRICE);
  expect((await entries(buyer))[0]).toMatchObject({ won: true, paid: true, due: null });
  expect((await ask('claim', drawId, giver)).body.code).toBe('already_paid');
});

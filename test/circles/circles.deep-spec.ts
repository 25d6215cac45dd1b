import type { Address } from 'viem';
import { type DevClient, artifacts, connect, deploy, devAccount, fund, read, receiptOf } from '#dev/deploy';
import { type Response, type SignedIn, until } from '../support/app';
import { useService } from '../support/chain/chain-bench';
import { Operators } from '../support/verify/operators';

const HOUR = 3600;
const CONTRIBUTION = 10n ** 19n;
const COLLATERAL = 15n * 10n ** 18n;

interface Call {
  name: string;
  to: `0x${string}`;
  data: `0x${string}`;
}

/** Three people save in turns by what the API tells them, on a real chain. */
let contract: Address;
const { bench, app, signIn } = useService(async ({ deployment: { token, contracts }, owner, further }) => {
  contract = contracts.rotating.toLowerCase() as Address;
  // Pools of this type had another contract before.
  const args = [token, owner.account.address, 1n];
  ({ address: contracts.rotating } = await deploy(owner, artifacts.SavingsPool, args));
  further.push(['rotating', contract]);
});
const clients: DevClient[] = [];
const people: SignedIn[] = [];
let stranger: SignedIn;

beforeAll(async () => {
  for (const index of [5, 6, 7]) {
    const client = await connect(bench.anvil.url, devAccount(index));
    await fund(client, bench.deployment.token, contract, 10n ** 24n);
    clients.push(client);
    people.push(await signIn(index));
  }
  stranger = await app.signIn();
  await bench.follow();
  await bench.atHead();
});

const rounds = async (pool: string, who: SignedIn): Promise<Record<string, any>> =>
  (await app.get(`/pools/${pool}/rounds`, who)).body.data;
const ask = (pool: string, name: string, who: SignedIn, query = ''): Promise<Response> =>
  app.get(`/pools/${pool}/calls/${name}${query}`, who);
const codeOf = async (answer: Promise<Response>): Promise<unknown> => {
  const { body } = await answer;
  return body.code ?? body.data.calls.map(({ name }: Call) => name);
};
async function send(pool: string, name: string, who: SignedIn, query = ''): Promise<string> {
  const { body } = await ask(pool, name, who, query);
  if (!body.data) throw new Error(`${name}: ${JSON.stringify(body)}`);
  let hash: `0x${string}` = '0x';
  for (const { to, data } of body.data.calls as Call[]) {
    hash = await clients[people.indexOf(who)].sendTransaction({ to, data });
    expect((await receiptOf(bench.owner, hash)).status).toBe('success');
  }
  await until(async () => (await app.sql('SELECT FROM chain_events WHERE tx_hash = $1', [hash])).length > 0);
  await bench.atHead();
  return hash;
}
async function passTime(seconds: number): Promise<void> {
  await bench.rpc('evm_increaseTime', seconds);
  await bench.mine(1);
  await bench.atHead();
}
const terms = async (members = people, collateral = COLLATERAL): Promise<string> => {
  const { timestamp } = await bench.owner.getBlock();
  const joinBy = new Date((Number(timestamp) + HOUR) * 1000).toISOString();
  const addresses = members.map(({ address }) => address).join(',');
  return `?contribution=${CONTRIBUTION}&collateral=${collateral}&period=${HOUR}&joinBy=${joinBy}&members=${addresses}`;
};
async function newPool(): Promise<{ id: string; depositId: string }> {
  const fields = { type: 'rotating', initialDeposit: `${CONTRIBUTION}` };
  return (await app.createPool(people[0], fields)) as { id: string; depositId: string };
}
const position = async (pool: string, who: SignedIn): Promise<string> =>
  (await app.get(`/pools/${pool}/position`, who)).body.data.balance;
const tokens = (who: SignedIn): Promise<bigint> =>
  read(bench.owner, 'TestToken', bench.deployment.token, 'balanceOf', [who.address]);

const operators = new Operators(bench);
/** Nothing differs from the events, and from the contract's own views. A replay finds nothing to do. */
async function verified(): Promise<void> {
  expect(await operators.verified()).toEqual([]);
  expect((await operators.replay()).corrected).toEqual([]);
}

it('a circle goes from its opening to the last refund, by what the service says', async () => {
  const [a, b, c] = people;
  const { id, depositId } = await newPool();
  expect(await rounds(id, a)).toEqual({ poolId: id, circle: null, mine: null, can: ['open'] });
  expect(await codeOf(ask(id, 'join', a))).toBe('no_circle');
  const query = await terms();
  expect(await codeOf(ask(id, 'open', stranger, query))).toBe('forbidden');
  await send(id, 'open', a, query);
  expect(await codeOf(ask(id, 'open', a, query))).toBe('circle_exists');
  expect(await rounds(id, a)).toMatchObject({
    circle: {
      state: 'JOINING',
      contribution: `${CONTRIBUTION}`,
      collateral: `${COLLATERAL}`,
      period: HOUR,
      places: 3,
    },
    mine: { place: 0, joined: false },
    can: ['join', 'cancel'],
  });
  // Nobody but those it names knows of it.
  expect((await app.get(`/pools/${id}/rounds`, stranger)).status).toBe(403);
  expect((await rounds(id, c)).can).toEqual(['join']);
  for (const name of ['deposit?amount=10', 'withdraw?amount=10', 'claim', 'compounding?enabled=true'])
    expect(await codeOf(app.get(`/pools/${id}/calls/${name}`, a))).toBe('uses_circle');
  expect(await codeOf(ask(id, 'cancel', b))).toBe('too_early');
  for (const who of people) {
    expect(await codeOf(ask(id, 'join', who))).toEqual(['approve', 'join']);
    expect(await codeOf(ask(id, 'contribute', who))).toBe('wrong_circle_state');
    await send(id, 'join', who);
  }
  expect(await codeOf(ask(id, 'join', a))).toBe('already_done');
  expect(await codeOf(ask(id, 'cancel', a))).toBe('wrong_circle_state');
  expect(await rounds(id, b)).toMatchObject({
    circle: { state: 'RUNNING', currentRound: 0 },
    mine: { place: 1, joined: true, paid: false },
    can: ['contribute'],
  });

  // The announced deposit is confirmed by the contribution.
  expect(await codeOf(ask(id, 'join', a, `?transaction=${depositId}`))).toBe('already_done');
  await send(id, 'contribute', a, `?transaction=${depositId}`);
  expect((await app.sql('SELECT status FROM transactions WHERE id = $1', [depositId]))[0]).toEqual({
    status: 'CONFIRMED',
  });
  expect(await codeOf(ask(id, 'contribute', a))).toBe('already_done');
  expect(await codeOf(ask(id, 'endRound', b))).toBe('too_early');
  await send(id, 'contribute', b);
  await send(id, 'contribute', c);
  expect((await rounds(id, c)).can).toEqual(['endRound']);
  await send(id, 'endRound', c);
  expect(await rounds(id, a)).toMatchObject({
    circle: { currentRound: 1, rounds: [{ round: 0, pot: `${3n * CONTRIBUTION}`, paidCount: 3 }, {}, {}] },
    mine: { payout: `${3n * CONTRIBUTION}` },
    can: ['contribute', 'payout'],
  });
  expect(await position(id, a)).toBe(`${3n * CONTRIBUTION + COLLATERAL}`);
  await verified();
  const before = await tokens(a);
  await send(id, 'payout', a);
  expect((await tokens(a)) - before).toBe(3n * CONTRIBUTION);
  expect(await codeOf(ask(id, 'payout', a))).toBe('nothing_in_circle');
  expect(await codeOf(ask(id, 'refund', a))).toBe('wrong_circle_state');

  // The third misses a payment.
  await send(id, 'contribute', a);
  await send(id, 'contribute', b);
  await passTime(HOUR + 1);
  expect(await codeOf(ask(id, 'contribute', c))).toBe('too_late');
  await send(id, 'endRound', a);
  expect((await rounds(id, c)).mine).toMatchObject({ missed: 1, collateral: `${COLLATERAL - CONTRIBUTION}` });
  for (const who of people) await send(id, 'contribute', who);
  await verified();
  await send(id, 'endRound', b);
  expect((await rounds(id, c)).circle).toMatchObject({ state: 'COMPLETED', currentRound: null });
  expect((await rounds(id, c)).can).toEqual(['payout', 'refund']);
  await send(id, 'payout', c);
  await send(id, 'payout', b);
  for (const who of people) await send(id, 'refund', who);
  expect(await codeOf(ask(id, 'refund', a))).toBe('nothing_in_circle');
  for (const who of people) expect(await position(id, who)).toBe('0');
  expect((await app.get(`/pools/${id}`, a)).body.data.balance).toBe('0');
  await verified();
});

it('a circle that does not start is cancelled by its organiser, later by anyone', async () => {
  const [a, b] = people;
  const { id } = await newPool();
  await send(id, 'open', a, await terms());
  await send(id, 'join', b);
  await passTime(HOUR + 1);
  expect(await codeOf(ask(id, 'join', a))).toBe('too_late');
  expect((await rounds(id, b)).can).toEqual(['cancel']);
  await send(id, 'cancel', b);
  expect((await rounds(id, b)).can).toEqual(['refund']);
  await send(id, 'refund', b);
  await verified();
});

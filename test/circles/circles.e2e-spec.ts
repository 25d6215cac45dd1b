import { CONTRACTS, type SignedIn, useApp } from '../support/app';
import { LAST_TIME } from '../support/chain/draws';
import { addCircle, forgetCircles, knowCircles } from '../support/circles/known-circles';
import { REPAIRING, quarantine } from '../support/ledger';

/** What the API says of circles, of which an indexer has read. `circles` in the deep suite plays them on a chain. */
const app = useApp();
let owner: SignedIn;
let id: string;
beforeAll(async () => {
  owner = await app.signIn();
});
beforeEach(async () => {
  ({ id } = (await app.createPool(owner, { type: 'rotating' })) as { id: string });
  await knowCircles(app);
});
afterEach(() => forgetCircles(app));

const SECOND_MEMBER = `0x${'0b'.repeat(20)}`;
const rounds = async (who = owner) => (await app.get(`/pools/${id}/rounds`, who)).body.data;
const HOUR_MS = 3_600_000;
const terms = (fields: Record<string, string | number> = {}): string =>
  new URLSearchParams({
    ...{
      contribution: '100',
      collateral: '50',
      period: '3600',
      members: `${owner.address},${SECOND_MEMBER}`,
    },
    joinBy: new Date(Date.parse(LAST_TIME) + HOUR_MS).toISOString(),
    ...fields,
  } as Record<string, string>).toString();
const open = (query: string, pool = id, who = owner) => app.get(`/pools/${pool}/calls/open?${query}`, who);

it('gives the call that opens a circle by terms that the contract takes', async () => {
  const { status, body } = await open(terms());
  expect([status, body.data.calls]).toMatchObject([200, [{ name: 'openCircle', to: CONTRACTS.rotating }]]);
  expect(await rounds()).toEqual({ poolId: id, circle: null, mine: null, can: ['open'] });
  const member = await app.signIn();
  const shared = await app.createPool(owner, { type: 'rotating', members: [member.address] });
  expect((await open(terms(), shared.id, member)).status).toBe(403);
});

it.each([
  ['members', 'one member', () => ({ members: owner.address })],
  ['members', 'a member twice', () => ({ members: `${owner.address},${owner.address}` })],
  ['members', 'the zero address', () => ({ members: `${owner.address},0x${'0'.repeat(40)}` })],
  ['period', 'less than an hour', () => ({ period: 3599 })],
  ['contribution', 'nothing', () => ({ contribution: 0 })],
  ['contribution', 'more than the contract can count', () => ({ contribution: `${2n ** 128n}` })],
  ['joinBy', 'a time that is past', () => ({ joinBy: '2020-01-01T00:00:00Z' })],
  ['joinBy', 'a time that is too far', () => ({ joinBy: '2999-01-01T00:00:00Z' })],
])('refuses terms that the contract would refuse, by %s: %s', async (field, _, fields) => {
  const { status, body } = await open(terms(fields()));
  expect([status, body.details]).toMatchObject([400, [{ field }]]);
});

it.each([
  [{ state: 'JOINING', joined: false }, { state: 'JOINING' }, ['join', 'cancel']],
  [{ state: 'RUNNING' }, { state: 'RUNNING', currentRound: 0 }, ['contribute']],
  [{ state: 'RUNNING', paid: true }, { state: 'RUNNING' }, []],
  [{ state: 'RUNNING', paid: true, ends: -1 }, { state: 'RUNNING' }, ['endRound']],
] as const)('says what the caller can do in a circle that is %o', async (fields, circle, can) => {
  await addCircle(app, id, owner.address, fields);
  expect(await rounds()).toMatchObject({ circle, mine: { place: 0 }, can });
});

it('builds no payment into a contract that is quarantined, but the calls that pay out', async () => {
  await addCircle(app, id, owner.address);
  const call = (name: string) => app.get(`/pools/${id}/calls/${name}`, owner);
  expect((await call('contribute')).status).toBe(200);
  await quarantine(app, CONTRACTS.rotating);
  for (const name of ['join', 'contribute']) {
    const { status, body } = await call(name);
    expect([name, status, body.code]).toEqual([name, 503, 'chain_unknown']);
  }
  for (const name of ['payout', 'refund', 'endRound'])
    expect([name, (await call(name)).status]).toEqual([name, 200]);
  await app.sql('DELETE FROM chain_contracts_apart');
});

it('shows a circle to its members and to nobody else', async () => {
  await addCircle(app, id, owner.address);
  const stranger = await app.signIn();
  expect((await app.get(`/pools/${id}/rounds`, stranger)).status).toBe(403);
  expect((await app.get(`/pools/${id}/calls/join`, stranger)).status).toBe(403);
});

it('knows no circles of pools of other types, or at contracts without circles', async () => {
  const other = (await app.createPool(owner, { type: 'cooperative' })) as { id: string };
  for (const path of ['rounds', `calls/open?${terms()}`])
    expect((await app.get(`/pools/${other.id}/${path}`, owner)).body.code).toBe('no_circle');
  await app.sql(`BEGIN; ${REPAIRING};
    UPDATE pools SET contract_address = '${CONTRACTS.individual}' WHERE id = '${id}'; COMMIT`);
  expect(await rounds()).toMatchObject({ circle: null, can: [] });
  expect((await open(terms())).body.code).toBe('no_circle');
});

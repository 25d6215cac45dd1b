import { type Hex, decodeFunctionData } from 'viem';
import { bytes16 } from '#values/bytes16';
import { savingsPoolAbi } from '#ledger/chain/contract.abi';
import { CONTRACTS, type SignedIn, until, useApp } from '../support/app';
import { differences } from '../support/recount';

const app = useApp();
let owner: SignedIn;
let member: SignedIn;
let pool: string;

beforeEach(async () => {
  owner = await app.signIn();
  member = await app.signIn();
  pool = (await app.createPool(owner, { type: 'cooperative', members: [member.address] })).id as string;
});
afterEach(async () => expect(await differences(app)).toEqual([]));

const patch = (body: unknown, as?: SignedIn, id = pool) =>
  app.send({ method: 'PATCH', url: `/pools/${id}`, body, as });
const callsOf = (enabled: string, as?: SignedIn, id = pool) =>
  app.send({ url: `/pools/${id}/calls/compounding?enabled=${enabled}`, as });
const detail = async (as = owner): Promise<Record<string, unknown>> =>
  (await app.get(`/pools/${pool}`, as)).body.data;
const compounding = async (as: SignedIn): Promise<unknown> =>
  (await app.get(`/pools/${pool}/position`, as)).body.data.compounding;

let block = 100;
/** What an indexer has read: the wallet's word on the chain. */
const says = (kind: string, { address }: SignedIn, outcome = 'APPLIED', id = pool) =>
  app.sql(
    `INSERT INTO chain_events (block_number, log_index, block_hash, block_time, tx_hash, contract, seq, kind, pool_id, account, outcome)
     VALUES ($1, 0, 'x', now(), 'y', $2, $1, $3, $4, $5, $6)`,
    [(block += 1), CONTRACTS.cooperative, kind, id, address, outcome],
  );

describe('PATCH /pools/:id', () => {
  it('sets what the owner wants, once and again, and leaves the rest of the pool as it is', async () => {
    const before = await detail();
    for (let i = 0; i < 2; i += 1) {
      const { status, body } = await patch({ autoCompound: true }, owner);
      expect([status, body.data]).toMatchObject([200, { id: pool, autoCompound: true, compounding: false }]);
    }
    const after = await detail(member);
    expect(after).toEqual({ ...before, autoCompound: true, lastUpdate: after.lastUpdate });
    expect(Date.parse(after.lastUpdate as string)).toBeGreaterThan(Date.parse(before.lastUpdate as string));
    await patch({ autoCompound: true }, owner);
    expect((await detail()).lastUpdate).toBe(after.lastUpdate);
    await patch({ autoCompound: false }, owner);
    expect((await detail()).autoCompound).toBe(false);
  });

  it.each([{}, { autoCompound: null }, { autoCompound: 'true' }, { autoCompound: 1 }, []])(
    'is refused with %j',
    async (body) => expect((await patch(body, owner)).status).toBe(400),
  );
});

describe('the word of a wallet on the chain', () => {
  it('is the latest that is in effect, of this wallet and pool', async () => {
    const other = (await app.createPool(owner, { type: 'cooperative' })).id as string;
    await says('CompoundingStarted', member);
    await says('CompoundingStarted', owner, 'APPLIED', other);
    await says('CompoundingStarted', owner, 'WAITING');
    expect([await compounding(owner), await compounding(member)]).toEqual([false, true]);
    expect((await patch({ autoCompound: true }, owner)).body.data.compounding).toBe(false);
    await says('CompoundingStarted', owner);
    await says('CompoundingStopped', member);
    expect([await compounding(owner), await compounding(member)]).toEqual([true, false]);
    expect((await patch({ autoCompound: false }, owner)).body.data.compounding).toBe(true);
  });

  it('is given by a call that the wallet sends to the contract of the pool', async () => {
    await app.sql(`INSERT INTO chain_facts (chain_id, token_address, token_symbol, token_decimals)
      VALUES (31337, '0x${'7'.repeat(40)}', 'USD', 18)`);
    for (const [enabled, name] of [
      ['true', 'startCompounding'],
      ['false', 'stopCompounding'],
    ] as const) {
      const { status, body } = await callsOf(enabled, member);
      expect(status).toBe(200);
      const [call, ...others] = body.data.calls as { name: string; to: string; data: Hex; value: string }[];
      expect(others).toEqual([]);
      expect(call).toMatchObject({ name, to: CONTRACTS.cooperative, value: '0' });
      const args = [bytes16(pool)];
      expect(decodeFunctionData({ abi: savingsPoolAbi, data: call.data })).toEqual({
        functionName: name,
        args,
      });
    }
    await app.sql('DELETE FROM chain_facts');
  });

  it('is not asked for again while the ledger is at the head', async () => {
    await says('CompoundingStarted', member);
    await app.sql(`INSERT INTO chain_cursor (chain_id, genesis_hash, block_number, block_hash, block_time,
      applied_number, state, beat_at) VALUES (1, '', 0, '', now(), 0, 'synced', now())`);
    let isDone = false;
    const asked = callsOf('true', member).finally(() => (isDone = true));
    // The indexer looks at the head again and again.
    await until(async () => (await app.sql('UPDATE chain_cursor SET progress_at = now()'), isDone));
    expect((await asked).body).toMatchObject({ code: 'compounding_unchanged' });
    await app.sql('DELETE FROM chain_cursor');
  });

  it('is refused with another value', async () => {
    for (const enabled of ['', '1', 'yes', 'TRUE']) expect((await callsOf(enabled, member)).status).toBe(400);
  });
});

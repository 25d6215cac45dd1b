import { SAVE_POSITIONS } from '#indexer/ledger/positions.sql';
import { WINDOW_BLOCKS } from '#indexer/reading/block-batch';
import { connect } from '#verify/checks/connection';
import { Findings } from '#verify/checks/findings';
import { Look } from '#verify/checks/look';
import { comparePositions } from '#verify/checks/positions';
import { REPAIRING } from '../../support/ledger';
import { planOf } from '../../support/plans';
import { OTHER, OTHER_CONTRACT, PaperChain, SAVER, Written, compact } from '../../support/chain/paper-chain';

const POOL = 'aaaaaaaa-0000-7000-8000-000000000001';
const LATE = 'aaaaaaaa-0000-7000-8000-000000000002';
const DAY = 86_400;

type Sketch = NonNullable<Parameters<PaperChain['add']>[0]>[number];
const event = (kind: Sketch['kind'], amount: number, fields: Partial<Sketch> = {}): Sketch => ({
  kind,
  poolId: compact(POOL),
  account: kind === 'YieldAccrued' ? null : SAVER,
  amount: `${amount}`,
  ...(kind === 'YieldAccrued' && { aprBps: 1 }),
  ...fields,
});
const deposit = (amount: number, fields?: Partial<Sketch>) => event('Deposited', amount, fields);
const withdrawal = (amount: number, fields?: Partial<Sketch>) => event('Withdrawn', amount, fields);
const claim = (amount: number) => event('YieldClaimed', amount);
const accrual = (amount: number, fields?: Partial<Sketch>) => event('YieldAccrued', amount, fields);

describe('positions', () => {
  let chain: PaperChain;
  let written: Written;
  beforeEach(async () => {
    chain = new PaperChain();
    written = await new Written().start(chain);
    await written.addPool(POOL);
  });
  afterEach(() => written.stop());

  const rows = (): Promise<unknown> => written.sql('SELECT * FROM positions ORDER BY pool_id, address');
  const balances = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await written.sql<{ address: string; balance: string }>('SELECT address, balance FROM positions')).map(
        ({ address, balance }) => [address, balance],
      ),
    );
  const owed = (): Promise<string[]> => written.column('SELECT owed FROM positions ORDER BY address');
  const journal = async (): Promise<number> =>
    (await written.column<number>('SELECT count(*)::int FROM position_journal'))[0];

  it('are written without a scan of the table, however few rows the planner believes it has', async () => {
    const values = Array<string>(20).fill('{}');
    const nodes = await planOf((text, some) => written.sql(text, some), SAVE_POSITIONS.text, values);
    expect(nodes.filter((node) => node['Relation Name'] === 'positions')).toHaveLength(1);
  });

  it('are restored after a block has been undone a second time, with another block in its place', async () => {
    const other = chain.fork(0);
    for (const [each, amount] of [
      [chain, 100],
      [other, 7],
    ] as const) {
      each.add([deposit(amount), deposit(amount, { account: OTHER })], 12, amount);
      each.add([accrual(amount * 5)], DAY, amount);
      each.add([deposit(1)], DAY, amount);
    }
    await written.apply(chain);
    await written.rewind(chain.blocks[0]);
    await written.apply(other, 1);
    const before = await rows();
    await written.apply(other, 2);
    await written.apply(other, 3);
    await written.rewind(other.blocks[1]);
    expect(await rows()).toEqual(before);
    expect(await balances()).toEqual({ [SAVER]: '7', [OTHER]: '7' });
  });

  it.each([0, 2 * WINDOW_BLOCKS])(
    'go back by any number of blocks, %i blocks below the head',
    async (below) => {
      const states: unknown[] = [await written.state()];
      for (let i = 1; i <= 12; i += 1) {
        chain.add([deposit(100 + i), accrual(i * 17), withdrawal(i), claim(i)], DAY);
        await written.apply(chain, i, i + below);
        states.push(await written.state());
      }
      expect((await journal()) > 0).toBe(below === 0);
      for (const to of [11, 8, 7, 2, 0]) {
        await written.rewind(chain.blocks[to]);
        expect(await written.state()).toEqual(states[to]);
      }
      expect(await journal()).toBe(0);
    },
  );

  it('keep former rows of the window only', async () => {
    for (let i = 0; i < WINDOW_BLOCKS + 10; i += 1) {
      chain.add([deposit(1)]);
      await written.apply(chain);
    }
    // Of each block one of the pool and one of the account.
    expect(await journal()).toBe(2 * WINDOW_BLOCKS);
  });

  it('count what the contract counts, also where the ledger could not', async () => {
    // The database refuses the first deposit's row.
    await written.client.query(
      `${REPAIRING}; UPDATE pools SET deposit_count = 2147483647 WHERE id = '${POOL}'`,
    );
    chain.add([deposit(100)]);
    await written.apply(chain);
    await written.client.query(`${REPAIRING}; UPDATE pools SET deposit_count = 0 WHERE id = '${POOL}'`);
    const before = await rows();
    chain.add([withdrawal(60)]);
    await written.apply(chain);
    const outcomes = await written.sql('SELECT outcome FROM chain_events ORDER BY block_number');
    expect(outcomes).toEqual([{ outcome: 'FAILED' }, { outcome: 'OVERDRAW' }]);
    expect(await balances()).toEqual({ [SAVER]: '40' });
    const after = await rows();
    await written.rewind(chain.blocks[1]);
    expect(await rows()).toEqual(before);
    await written.apply(chain);
    // The same from the stored events, without former rows.
    chain.add([deposit(5)]);
    await written.apply(chain);
    await written.sql('DELETE FROM position_journal');
    await written.rewind(chain.blocks[2]);
    expect(await rows()).toEqual(after);
  });

  it('count no event of another contract than the pool’s, and none of a pool that is not known yet', async () => {
    const late = { poolId: compact(LATE) };
    chain.add([deposit(100), deposit(50, { contract: OTHER_CONTRACT }), deposit(30, late)]);
    chain.add([accrual(1000), accrual(1000, late), accrual(7, { contract: OTHER_CONTRACT })], DAY);
    await written.apply(chain);
    expect(await balances()).toEqual({ [SAVER]: '100' });
    const before = await rows();
    await written.addPool(LATE);
    await written.apply(chain, 2);
    const complete = (await rows()) as { balance: string }[];
    expect(complete.map(({ balance }) => balance)).toEqual(['100', '30']);
    chain.add([deposit(1, { ...late, contract: OTHER_CONTRACT })]);
    await written.apply(chain);
    await written.rewind(chain.blocks[2]);
    expect(await rows()).toEqual(complete);
    await written.sql('DELETE FROM position_journal');
    await written.rewind(chain.blocks[1]);
    expect(((await rows()) as unknown[]).length).toBe(2);
    expect(await owed()).toEqual(['0', '0']);
    expect(((await rows()) as object[])[0]).toEqual((before as object[])[0]);
  });

  it('take what they can of what SavingsPool cannot have emitted, and tell of it', async () => {
    chain.add([accrual(5)], DAY);
    chain.add([deposit(100, { account: OTHER }), deposit(10)]);
    // More than the account holds, though not more than the pool does, leaves nothing; and an accrual of no second.
    chain.add([withdrawal(11), accrual(1100)], DAY);
    chain.add([accrual(3)], 0);
    // Less than is owed, and then more.
    chain.add([claim(49)], DAY);
    const { anomalies } = await written.apply(chain);
    expect(anomalies.get('position')).toBe(4);
    expect(await balances()).toEqual({ [SAVER]: '0', [OTHER]: '100' });
    const [position] = await written.sql<object>(
      'SELECT withdrawn, owed, claimed FROM positions WHERE address = $1',
      [SAVER],
    );
    expect(position).toEqual({ withdrawn: '11', owed: '50', claimed: '49' });
    chain.add([claim(51)], DAY);
    expect((await written.apply(chain)).anomalies.get('position')).toBe(1);
    expect(await owed()).toEqual(['0', '0']);
    const client = await connect(written.operatorUrl, false, 10_000);
    const findings = new Findings(9);
    await comparePositions(new Look(client, findings), [POOL]);
    await client.end();
    expect(findings.report()).toMatchObject({ listed: [], notChecked: [] });
  });
});

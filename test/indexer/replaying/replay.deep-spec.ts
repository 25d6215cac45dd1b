import { connect } from '#indexer/leading/leader';
import { PoolCorrection } from '#indexer/replaying/pool-correction';
import { Replay, type ReplayReport } from '#indexer/replaying/replay';
import { Findings } from '#verify/checks/findings';
import { Look } from '#verify/checks/look';
import { LOTTERY } from '../../support/chain/paper-chain';
import { CORRUPTIONS, isGiven, rounds } from '../../support/verify/verify-cases';
import { SUMS, VerifyScene } from '../../support/verify/verify-scene';

const scene = new VerifyScene();
beforeAll(() => scene.start());
afterAll(() => scene.stop());
afterEach(() => scene.putBack());

const replay = (): Promise<ReplayReport> => new Replay(scene.written.databaseUrl, () => undefined).run();

const NOTHING = { corrected: [], refused: [] };
/** What was corrected. */
async function replayed(): Promise<{ corrected: string[]; refused: string[] }> {
  const { corrected, refused } = await replay();
  return { corrected: Object.entries(corrected).flatMap(([name, count]) => (count ? name : [])), refused };
}

it('changes nothing where nothing is wrong', async () => {
  expect(await replayed()).toEqual(NOTHING);
  expect(await scene.changed()).toEqual([]);
  expect(await replay()).toMatchObject({ events: 41 });
});

it('keeps the draws of a lottery that is followed no longer, or only for other types', async () => {
  await scene.corrupt(`DELETE FROM chain_contracts WHERE type = 'lottery'`);
  expect(await replayed()).toEqual(NOTHING);
  await scene.corrupt(`INSERT INTO chain_contracts VALUES ('individual', '${LOTTERY}', 0, 0)`);
  expect(await replayed()).toEqual(NOTHING);
  expect(await scene.changed()).toEqual(['chain_contracts']);
});

it('keeps the draws of a lottery that is followed since the replay began', async () => {
  const client = await connect(scene.written.databaseUrl);
  try {
    // As the walk found it while the lottery was unknown.
    const draws = new PoolCorrection(new Look(client, new Findings(1)));
    await draws.add({ id: `~ ${LOTTERY} 1`, events: 1, ledger: true });
    await draws.end();
    expect([draws.corrected.chain_events, draws.refused]).toEqual([0, []]);
  } finally {
    await client.end();
  }
  expect(await scene.changed()).toEqual([]);
});

it('makes the draws of a lottery by its events alone, if it is followed', async () => {
  await scene.corrupt(`UPDATE chain_events SET outcome = 'REFUSED', reason = 'not a lottery contract' WHERE draw_id IS NOT NULL;
    DELETE FROM lottery_draws; DELETE FROM lottery_tickets; UPDATE lottery_totals SET winners = 0`);
  expect((await replayed()).corrected).toContain('chain_events');
  expect(await scene.verify()).toMatchObject({ listed: [] });
  expect(await scene.sql('SELECT FROM lottery_draws')).toHaveLength(2);
});

/** Of what the chain, people and nodes said, a replay makes these again. Others are as they were told. */
const REMADE = ['transactions', 'yield_accruals'];
const REMADE_COLUMNS = ['outcome', 'reason', 'transaction_id'].map((column) => `chain_events.${column}`);
const KEPT = [
  'transactions.requested_amount',
  // The chain's clock says which of those that nobody paid are expired.
  'transactions.status',
];
const REPLAYED = CORRUPTIONS.filter(
  (each) =>
    (!isGiven(each) || REMADE.includes(each.table) || REMADE_COLUMNS.includes(each.column)) &&
    !KEPT.includes(each.column),
);
/** What was changed behind the triggers' back was never published, and is published as taken back. */
const FOLLOW = [...SUMS, 'set_aside_counts', 'position_journal', 'outbox'];

it.each(rounds(REPLAYED).map((round, i) => [i + 1, round] as const))(
  'makes a column of each table again, round %i',
  async (_, round) => {
    for (const { statement } of round) await scene.corrupt(statement);
    expect(await scene.changed()).toHaveLength(round.length);
    const { corrected, refused } = await replayed();
    expect([corrected.length > 0, refused]).toEqual([true, []]);
    expect((await scene.changed()).filter((name) => !FOLLOW.includes(name))).toEqual([]);
    const { listed } = await scene.verify(false, scene.node);
    expect(listed.filter(({ kind }) => !kind.startsWith('outbox.'))).toEqual([]);
    expect(await replayed()).toEqual(NOTHING);
  },
);

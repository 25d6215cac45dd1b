import { Fleet, report, seconds } from '../support/processes/fleet';
import { Depositors, INTACT, audit, isOverlap } from './ledger';

describe('kill -9 of an API process under load', () => {
  let fleet: Fleet;
  beforeAll(async () => void (fleet = await Fleet.start({ indexed: true })));
  afterAll(() => fleet?.stop());

  it('loses no acknowledged pool and leaves no half pool', async () => {
    const load = new Depositors(fleet);
    await load.start();
    await load.progress(200);
    const recoveries: number[] = [];
    for (const replica of fleet.replicas) {
      await replica.end('SIGKILL');
      const survivor = fleet.replicas.findIndex((each) => each !== replica);
      const before = load.acknowledgedBy[survivor];
      await load.progress(100);
      expect(load.acknowledgedBy[survivor]).toBeGreaterThan(before);

      const index = fleet.replicas.indexOf(replica);
      const [acknowledged, begun] = [load.acknowledgedBy[index], Date.now()];
      await replica.start();
      while (load.acknowledgedBy[index] === acknowledged) await load.progress(1);
      recoveries.push(Date.now() - begun);
    }
    await load.progress(100);
    await load.stop();

    const unanswered = load.failures.filter((failure) => !isOverlap(failure));
    const found = await audit(fleet, load);
    report('each of 2 API processes killed', {
      requests: load.requests,
      'pools acknowledged': load.acknowledged.size,
      'without an answer': unanswered.length,
      lost: found.lost,
      duplicated: found.duplicated,
      'half pools': found.half,
      's until a restarted process served': seconds(Math.max(...recoveries)),
    });
    expect(found).toEqual(INTACT);
    // A killed process does not answer at all. A busy machine may answer some requests with 503.
    expect(new Set([503, ...unanswered.map(({ status }) => status)])).toEqual(new Set([503, 0]));
  });
});

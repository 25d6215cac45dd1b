import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DevClient } from '#dev/deploy';
import { LIMITS } from '#platform/postgres/budget';
import type { VerifyReport } from '#verify/checks/findings';
import { tally } from '../fleet/http';
import { INTACT, audit } from '../fleet/ledger';
import { asSetting } from '../support/app';
import { migrate } from '../support/database';
import { Fleet, report, seconds } from '../support/processes/fleet';
import { eventually } from '../support/processes/processes';
import { Cluster } from './cluster';
import { Savers, payers } from './savers';
import { type Row, publish } from './table';

/** Seconds; the shortest that Patroni's documentation allows. */
const TTL_S = 20;
/** Longer than any failover takes on a busy machine. */
const RECOVERY_MS = 120_000;
/** The same for three nodes, the migrations and the service. */
const SETUP_MS = 600_000;
/** Clients that write. */
const CLIENTS = 12;
/** Pools acknowledged before a fault, once writes go on, and after the repair. */
const STEADY = 50;
const VERIFY = join(__dirname, '../../dist/src/verify.js');

interface Fault {
  name: string;
  /** @param leader the number of the leader's node @param standby the number of the synchronous standby's */
  fail: (leader: string, standby: string) => Promise<unknown>;
  /** Whether the cluster has reacted. Without it, further writes are enough. */
  reacted?: (leader: string, standby: string) => Promise<boolean>;
  repair?: (leader: string, standby: string) => Promise<unknown>;
  possible?: (cluster: Cluster) => boolean;
  /** No request is refused that has not waited for as long as the service lets it. */
  planned?: true;
}

describe('the PostgreSQL cluster fails under load', () => {
  let cluster: Cluster;
  let fleet: Fleet;
  let accounts: DevClient[];
  let load: Savers | undefined;
  const rows: Row[] = [];
  let passed = 0;

  beforeAll(async () => {
    cluster = await Cluster.up({ TTL: `${TTL_S}` });
    await migrate(cluster.url);
    const database = { url: cluster.url, drop: () => Promise.resolve() };
    fleet = await Fleet.start({ database, urls: cluster.urls, indexed: true });
    accounts = await payers(fleet);
  }, SETUP_MS);
  afterAll(async () => {
    await fleet?.stop();
    await cluster?.destroy();
    publish(rows, passed === faults.length);
  });

  const run = (...command: (string | number)[]): Promise<string> => cluster.run(...command);
  const led = async (other: string): Promise<boolean> => {
    const leader = await cluster.leader();
    return leader !== undefined && leader !== other;
  };

  const faults: Fault[] = [
    { name: "leader's PostgreSQL killed", fail: (leader) => run('kill', leader, 'postgres') },
    {
      name: "leader's whole node killed",
      fail: (leader) => run('kill', leader),
      reacted: led,
      repair: (leader) => run('start', leader),
    },
    {
      name: "leader's Patroni killed",
      fail: (leader) => run('kill', leader, 'patroni'),
      reacted: led,
      repair: (leader) => run('start', leader),
    },
    {
      name: 'synchronous standby killed',
      fail: (_, standby) => run('kill', standby),
      reacted: async (_, standby) => ![undefined, standby].includes(await cluster.synchronous()),
      repair: (_, standby) => run('start', standby),
    },
    {
      name: "leader's PostgreSQL frozen",
      fail: (leader) => run('freeze', leader, 'postgres'),
      reacted: led,
      repair: (leader) => run('wake', leader),
    },
    {
      name: "leader's whole node frozen",
      fail: (leader) => run('freeze', leader),
      reacted: led,
      repair: (leader) => run('wake', leader),
    },
    {
      name: 'leader cut off from the network',
      fail: (leader) => run('cut', leader),
      reacted: led,
      repair: (leader) => run('heal', leader),
      possible: ({ namespaces }) => namespaces,
    },
    { name: 'switchover by plan', fail: () => run('switchover'), planned: true },
    {
      name: `etcd stopped for longer than the lock lives`,
      fail: () => run('stop', 'etcd'),
      reacted: lasting((TTL_S + 2) * 1000),
      repair: () => run('start', 'etcd'),
    },
  ];

  it.each(faults)('$name: nothing lost, doubled or half', async (fault) => {
    if (fault.possible && !fault.possible(cluster)) {
      report(fault.name, { 'network namespaces, so it is left out': 'no' });
      rows.push({ fault: fault.name });
      return;
    }
    await run('wait');
    const [leader, standby] = [(await cluster.leader())!, (await cluster.synchronous())!];
    const earlier = load?.acknowledged.size ?? 0;
    load = new Savers(fleet, accounts, load);
    await load.start(CLIENTS);
    await load.progress(STEADY);

    const begun = Date.now();
    await fault.fail(leader, standby);
    await eventually(() => fault.reacted?.(leader, standby) ?? true, RECOVERY_MS);
    await load.progress(STEADY, RECOVERY_MS);
    await fault.repair?.(leader, standby);
    await run('wait');
    await load.progress(STEADY, RECOVERY_MS);
    await load.stop();

    await fleet.followsChain();
    const found = await audit(fleet, load, load.paid);
    const verified = await verify();
    const answers = tally([...load.failures, ...load.reads]);
    const row: Row = {
      fault: fault.name,
      pause: seconds(load.longestPause(begun)),
      acknowledged: load.acknowledged.size - earlier,
      lost: found.lost,
      doubled: found.duplicated + found.unknown,
      half: found.half,
      conflicts: answers[409] ?? 0,
      refused: answers[503] ?? 0,
      doneAllTheSame: load.doneAllTheSame,
    };
    rows.push(row);
    const { fault: name, ...figures } = row;
    report(name, figures);

    const unexpected = [...load.failures, ...load.reads].filter(
      ({ status }) => ![200, 201, 409, 503].includes(status),
    );
    expect(unexpected.map(({ status, text, error }) => `${status} ${text} ${error}`)).toEqual([]);
    expect(load.wrong.map(({ status, text }) => `${status} ${text}`)).toEqual([]);
    expect(load.untrue.map(({ text }) => text)).toEqual([]);
    // On a slow machine the switchover takes longer than requests wait.
    if (fault.planned)
      expect(
        [...load.firstFailures, ...load.reads]
          .filter(({ status }) => status >= 400)
          .filter(({ body, ms }) => body?.code !== 'unavailable' || ms < LIMITS.resendMs)
          .map(({ text, ms }) => `${ms} ms: ${text}`),
      ).toEqual([]);
    expect(found).toEqual(INTACT);
    expect(verified).toEqual({ code: 0, differences: {}, notChecked: [] });
    for (const each of [...fleet.replicas, ...fleet.indexers]) expect(each.running).toBe(true);
    passed++;
  });

  /** The service's own verification, of what is derived, of the ledger, and of the chain. */
  async function verify(): Promise<Pick<VerifyReport, 'differences' | 'notChecked'> & { code: number }> {
    const env = {
      PATH: process.env.PATH,
      NODE_ENV: 'test',
      DATABASE_URL: cluster.url,
      RPC_URL: fleet.chain!.url,
      POOL_CONTRACTS: asSetting(fleet.deployment!.contracts),
    };
    const { code = 0, stdout } = (await promisify(execFile)(process.execPath, [VERIFY, '--json'], {
      env,
    }).catch((failure: { code: number; stdout: string }) => failure)) as { code?: number; stdout: string };
    const { differences, notChecked } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as VerifyReport;
    return { code, differences, notChecked };
  }
});

/** Comes true that many ms after it was asked first. */
function lasting(ms: number): () => Promise<boolean> {
  let end: number | undefined;
  return () => Promise.resolve(Date.now() >= (end ??= Date.now() + ms));
}

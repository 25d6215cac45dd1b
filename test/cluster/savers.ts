import { parseEther } from 'viem';
import { bytes16 } from '#values/bytes16';
import { TYPE_WITH_CIRCLES } from '#values/types';
import { type DevClient, connect, devAccount, execute, fund } from '#dev/deploy';
import { type Answer, type Caller, HttpClient } from '../fleet/http';
import { type Created, Depositors } from '../fleet/ledger';
import { type Fleet } from '../support/processes/fleet';
import { type Wallet } from '../support/wallet';

/** So many of the clients also pay on the chain what they announced. */
const PAYERS = 2;
const FUNDS = parseEther('1000000000');

/** Accounts of the chain that have the token. */
export async function payers(fleet: Fleet): Promise<DevClient[]> {
  const { token, contracts } = fleet.deployment!;
  const clients: DevClient[] = [];
  for (let i = 0; i < PAYERS; i++) {
    const client = await connect(fleet.chain!.url, devAccount(i + 1));
    for (const contract of Object.values(contracts)) await fund(client, token, contract, FUNDS);
    clients.push(client);
  }
  return clients;
}

/** Clients that create pools, read each back at another replica right away, and, some of them, pay on the chain. */
export class Savers extends Depositors {
  /** When pools were acknowledged, in ms since 1970. */
  readonly times: number[] = [];
  readonly reads: Answer[] = [];
  /** Reads that were answered with anything else than the pool as it was acknowledged. */
  readonly wrong: Answer[] = [];
  /** Pools whose deposit is on the chain. */
  readonly paid: Set<string>;
  /** Pools that a request had created which was answered with an error. */
  doneAllTheSame = 0;
  /** Those of them that were answered with the code that says that nothing was done. */
  readonly untrue: Answer[] = [];
  private readonly readers: HttpClient[];

  constructor(
    fleet: Fleet,
    private readonly payers: DevClient[],
    earlier?: Savers,
  ) {
    super(fleet, earlier);
    this.paid = new Set(earlier?.paid);
    this.readers = fleet.urls.map((url) => new HttpClient(url));
    this.contracts = fleet.deployment!.contracts;
  }

  private readonly contracts: NonNullable<Fleet['deployment']>['contracts'];

  override async stop(): Promise<void> {
    await super.stop();
    for (const reader of this.readers) reader.close();
  }

  protected override wallet(index: number): Wallet | undefined {
    return this.payers[index]?.account as Wallet | undefined;
  }

  protected override async created(pool: Created, caller: Caller, index: number): Promise<void> {
    this.times.push(Date.now());
    if (Date.parse(pool.createdAt) < pool.begun) {
      this.doneAllTheSame++;
      if (pool.earlier.every(({ body }) => body?.code === 'unavailable')) this.untrue.push(...pool.earlier);
    }
    await this.read(pool, caller, index);
    const payer = this.payers[index];
    // What pays into a circle are its rounds.
    if (!payer || pool.type === TYPE_WITH_CIRCLES) return;
    await execute(payer, 'SavingsPool', this.contracts[pool.type], 'deposit', [
      bytes16(pool.id),
      bytes16(pool.depositId),
      BigInt(pool.balance),
    ]);
    this.paid.add(pool.id);
  }

  private async read({ id, balance }: Created, { token }: Caller, index: number): Promise<void> {
    const reader = this.readers[(this.times.length + index) % this.readers.length];
    const answer = await reader.send(`/pools/${id}`, { token });
    this.reads.push(answer);
    if (answer.status !== 503 && answer.body?.data?.balance !== balance) this.wrong.push(answer);
  }

  /** The longest time without an acknowledged pool since then, in ms. */
  longestPause(since: number): number {
    const times = [since, ...this.times.filter((time) => time >= since)];
    return Math.max(0, ...times.slice(1).map((time, i) => time - times[i]));
  }
}

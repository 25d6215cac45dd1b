import type { Rows } from './model-rows';

/** An applied event of a circle. Amounts in token units, times as the database writes them. */
export interface CircleEvent {
  kind: string;
  contract: string;
  circle: string;
  pool: string;
  account: string | null;
  amount: string | null;
  collateral: string | null;
  period: string | null;
  /** Of a member, the number of a round, or how many members there are. */
  place: string | null;
  /** What the event says of a time: when joining or a round ends. */
  until: string | null;
  /** Of the block. */
  time: string;
}

const newMember = (place: number) => ({
  ...{ place, joined_at: null as string | null, collateral: 0n },
  ...{ paid: 0n, missed: 0, won: 0n, paid_out: 0n, refunded: 0n },
});
const newRound = (account: string) => ({
  ...{ account, paid: new Set<string>(), ends_at: null as string | null },
  ...{ pot: null as string | null, ended_at: null as string | null },
});

/**
 * What becomes of one circle, event by event, as contracts/RotatingPool.sol has it: members join by locking their
 * collateral; when all have, rounds run. In each of them every member pays once, or the member's collateral does; then the
 * pot is the account's whose turn it was, and nothing is paid in the next round yet.
 */
export class CircleModel {
  private opened?: CircleEvent;
  private state = 'JOINING';
  private ended = 0;
  /** By the names of columns; `paid` is of the round that runs, or was the last. */
  private readonly members = new Map<string, ReturnType<typeof newMember>>();
  private readonly rounds = new Map<number, ReturnType<typeof newRound>>();

  apply(event: CircleEvent): void {
    const { kind, account, until } = event;
    // No event of another pool is of this circle, whatever it says.
    if (this.opened && event.pool !== this.opened.pool) return;
    const [amount, place] = [BigInt(event.amount ?? 0), Number(event.place ?? 0)];
    const member = this.members.get(account ?? '');
    if (kind === 'CircleOpened') this.opened ??= event;
    else if (kind === 'MemberNamed' && !member && !this.rounds.has(place)) {
      this.members.set(account!, newMember(place));
      this.rounds.set(place, newRound(account!));
    } else if (kind === 'CircleStarted') {
      this.state = 'RUNNING';
      this.end(0, until);
    } else if (kind === 'RoundEnded') this.endRound(event, amount, place);
    else if (kind === 'CircleCompleted') this.state = 'COMPLETED';
    else if (kind === 'CircleCancelled') this.state = 'CANCELLED';
    else if (!member) return;
    else if (kind === 'Joined') {
      member.joined_at ??= event.time;
      member.collateral += amount;
    } else if (kind === 'Contributed') this.pay(account!, amount, place);
    else if (kind === 'CollateralUsed') {
      member.collateral -= amount;
      member.missed += 1;
      this.pay(account!, amount, place);
    } else if (kind === 'PaidOut') member.paid_out += amount;
    else if (kind === 'CircleRefunded') member.refunded += amount;
  }

  private end(place: number, until: string | null): void {
    const round = this.rounds.get(place);
    if (round) round.ends_at = until;
  }

  private pay(account: string, amount: bigint, place: number): void {
    this.rounds.get(place)?.paid.add(account);
    if (place === this.ended) this.members.get(account)!.paid += amount;
  }

  private endRound({ account, until, time }: CircleEvent, pot: bigint, place: number): void {
    const round = this.rounds.get(place);
    if (round) Object.assign(round, { pot: `${pot}`, ended_at: time });
    this.end(place + 1, until);
    this.ended += 1;
    for (const member of this.members.values()) member.paid = 0n;
    const winner = this.members.get(account ?? '');
    if (winner) winner.won += pot;
  }

  /** A circle that was not opened has no rows. */
  rows(): Rows {
    const { opened } = this;
    if (!opened) return { circles: [], circle_members: [], circle_rounds: [] };
    const key = { contract: opened.contract, circle_id: opened.circle };
    const { pool, account, amount, collateral, period, place, until, time } = opened;
    return {
      circles: [
        {
          ...{ ...key, pool_id: pool, organiser: account, contribution: amount, collateral, period },
          ...{ places: place, join_by: until, state: this.state, rounds_ended: this.ended },
          round_end: this.state === 'RUNNING' ? (this.rounds.get(this.ended)?.ends_at ?? null) : null,
          opened_at: time,
        },
      ],
      circle_members: [...this.members].map(([member, row]) => ({ ...key, account: member, ...row })),
      circle_rounds: [...this.rounds].map(([round, { paid, ...row }]) => ({
        ...{ ...key, round, ...row },
        paid_count: paid.size,
      })),
    };
  }
}

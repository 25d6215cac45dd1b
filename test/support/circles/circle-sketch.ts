import type { ChainEvent } from '#indexer/reading/decode';
import type { CircleKind } from '#ledger/adapters/happening';

type Sketch = { kind: CircleKind } & Partial<Omit<ChainEvent, 'kind'>>;

/** What every member pays in a round, and locks. */
export const CONTRIBUTION = 100n;
export const COLLATERAL = 150n;

/** The events of one circle as its contract tells them, for a chain of paper. */
export class CircleSketch {
  private round = 0;
  private paid = new Set<string>();

  constructor(
    readonly poolId: string,
    readonly members: string[],
    readonly circleId = '1',
    private readonly organiser = members[0],
  ) {}

  private of(kind: CircleKind, fields: Partial<Omit<ChainEvent, 'kind'>> = {}): Sketch {
    return { kind, poolId: this.poolId, circleId: this.circleId, ...fields };
  }

  open(): Sketch[] {
    const terms = { amount: `${CONTRIBUTION}`, collateral: `${COLLATERAL}`, period: 3600 };
    return [
      this.of('CircleOpened', {
        ...terms,
        account: this.organiser,
        place: this.members.length,
        drawTime: 1_800_000_000,
      }),
      ...this.members.map((account, place) => this.of('MemberNamed', { account, place })),
    ];
  }

  /** The last one starts the circle. */
  join(account: string, ref: string | null = null): Sketch[] {
    this.paid.add(account);
    const joined = this.of('Joined', { account, amount: `${COLLATERAL}`, ref });
    if (this.paid.size < this.members.length) return [joined];
    this.paid = new Set();
    return [joined, this.of('CircleStarted', { drawTime: 1_700_000_000 })];
  }

  contribute(account: string, ref: string | null = null): Sketch[] {
    this.paid.add(account);
    return [this.of('Contributed', { account, amount: `${CONTRIBUTION}`, place: this.round, ref })];
  }

  /** A member who has not paid does so by the collateral. */
  endRound(): Sketch[] {
    const { round, members } = this;
    const missing = members.filter((member) => !this.paid.has(member));
    this.paid = new Set();
    this.round += 1;
    const isLast = this.round === members.length;
    return [
      ...missing.map((account) =>
        this.of('CollateralUsed', { account, amount: `${CONTRIBUTION}`, place: round }),
      ),
      this.of('RoundEnded', {
        account: members[round],
        amount: `${CONTRIBUTION * BigInt(members.length)}`,
        place: round,
        drawTime: isLast ? 0 : 1_700_000_000 + 3600 * this.round,
      }),
      ...(isLast ? [this.of('CircleCompleted')] : []),
    ];
  }

  cancel(): Sketch[] {
    return [this.of('CircleCancelled')];
  }

  paidOut(account: string, amount: bigint): Sketch[] {
    return [this.of('PaidOut', { account, amount: `${amount}` })];
  }

  refunded(account: string, amount: bigint): Sketch[] {
    return [this.of('CircleRefunded', { account, amount: `${amount}` })];
  }
}

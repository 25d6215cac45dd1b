import type { BoundStatement } from '#platform/postgres/statement';
import type { StatementConnection } from './statement-connection';

/** Who causes a read: the value of the parameter that says so, otherwise the statement itself. */
export const partyOf = ({ statement, values }: BoundStatement): unknown =>
  statement.payer === undefined ? statement : values[statement.payer];

/** How many connections each party has in use, so that none takes all. */
export class Shares {
  private readonly inUse = new Map<unknown, number>();
  private readonly parties = new Map<StatementConnection, Set<unknown>>();

  private usedUp = 0;

  /** @param most connections of a party */
  constructor(private readonly most: number) {}

  get isAnyUsedUp(): boolean {
    return this.usedUp > 0;
  }

  /** Whether the party may have one more. */
  isFree(party: unknown): boolean {
    return (this.inUse.get(party) ?? 0) < this.most;
  }

  /** Gives the party a share of the connection, if it may have one, or has it already. */
  take(connection: StatementConnection, party: unknown): boolean {
    let parties = this.parties.get(connection);
    if (parties?.has(party)) return true;
    const count = this.inUse.get(party) ?? 0;
    if (count >= this.most) return false;
    if (!parties) this.parties.set(connection, (parties = new Set()));
    parties.add(party);
    this.inUse.set(party, count + 1);
    if (count + 1 === this.most) this.usedUp++;
    return true;
  }

  release(connection: StatementConnection): void {
    for (const party of this.parties.get(connection) ?? []) {
      const count = this.inUse.get(party)!;
      if (count === this.most) this.usedUp--;
      if (count > 1) this.inUse.set(party, count - 1);
      else this.inUse.delete(party);
    }
    this.parties.delete(connection);
  }
}

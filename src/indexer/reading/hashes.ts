/** An endpoint that refused block hashes is asked by number for this long. It doubles each time that it refuses again. */
const FIRST_MS = 60_000;
const LONGEST_MS = 3_600_000;

/** Whether an endpoint takes block hashes in a kind of call. */
class Taken {
  private until = 0;
  private waitMs = FIRST_MS;

  get now(): boolean {
    return Date.now() >= this.until;
  }

  note(isTaken: boolean): void {
    this.until = isTaken ? 0 : Date.now() + this.waitMs;
    this.waitMs = isTaken ? FIRST_MS : Math.min(2 * this.waitMs, LONGEST_MS);
  }
}

/** Whether an endpoint takes block hashes in `eth_getLogs` (EIP-234) and `eth_call` (EIP-1898), as far as known. */
export class Hashes {
  readonly inLogs = new Taken();
  readonly inCalls = new Taken();
}

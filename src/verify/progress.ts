/** Time between reports of progress, on a terminal and elsewhere. */
const REPORT_MS = { terminal: 200, log: 5000 };

/** Reports the progress of a run on standard error. */
export class Progress {
  private phase = '';
  private start = Date.now();
  private reported = Date.now();
  private done = 0;

  constructor(private readonly stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr) {}

  begin(phase: string): void {
    this.phase = phase;
    this.start = Date.now();
    this.done = 0;
  }

  /** @param share of the phase, 0 to 1 */
  advance(rows: number, share: number): void {
    this.done += rows;
    const now = Date.now();
    if (now - this.reported < (this.stream.isTTY ? REPORT_MS.terminal : REPORT_MS.log)) return;
    this.reported = now;
    const elapsed = (now - this.start) / 1000;
    const part = Math.min(1, Math.max(0, share));
    const left = part > 0 ? `, ${Math.round((elapsed / part) * (1 - part))} s left` : '';
    const line = `${this.phase}: ${Math.floor(part * 100)} %, ${Math.round(this.done / elapsed)}/s${left}`;
    this.stream.write(this.stream.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
  }

  end(): void {
    if (this.stream.isTTY) this.stream.write('\r\x1b[K');
  }
}

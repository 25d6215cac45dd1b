import { type Answer, type Call, HttpClient } from '../http';

/**
 * Interval between readiness probes of a replica. Load balancers that probe less often may need a longer `NOTICE_MS`.
 */
const PROBE_MS = 250;

/** Sends requests in turn to the replicas whose readiness probe answers 200. Retries nothing. */
export class Balancer {
  readonly ready: boolean[];
  private readonly clients: HttpClient[];
  private readonly probes: HttpClient[];
  private readonly timer: NodeJS.Timeout;
  private turn = 0;

  constructor(urls: string[]) {
    this.clients = urls.map((url) => new HttpClient(url));
    this.probes = urls.map((url) => new HttpClient(url));
    this.ready = urls.map(() => false);
    this.timer = setInterval(() => void this.probe(), PROBE_MS);
  }

  async send(path: string, call?: Call): Promise<Answer> {
    for (let tries = 0; tries < this.clients.length; tries++) {
      const index = this.turn++ % this.clients.length;
      if (this.ready[index]) return this.clients[index].send(path, call);
    }
    throw new Error('no replica is ready');
  }

  close(): void {
    clearInterval(this.timer);
    for (const client of [...this.clients, ...this.probes]) client.close();
  }

  private async probe(): Promise<void> {
    await Promise.all(
      this.probes.map(async (probe, i) => {
        this.ready[i] = (await probe.send('/health/ready')).status === 200;
      }),
    );
  }
}

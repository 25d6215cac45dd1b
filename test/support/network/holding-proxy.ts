import { TcpProxy } from './tcp-proxy';

/** A network that can hold back some of what it carries. */
export abstract class HoldingProxy extends TcpProxy {
  private held?: (() => void)[];

  hold(): void {
    this.held ??= [];
  }

  /** Chunks and ends of connections that are held. */
  get waiting(): number {
    return this.held?.length ?? 0;
  }

  deliver(): void {
    const held = this.held ?? [];
    this.held = undefined;
    for (const send of held) send();
  }

  protected later(send: () => void): void {
    if (this.held) this.held.push(send);
    else send();
  }
}

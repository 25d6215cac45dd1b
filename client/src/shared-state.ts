import { Connection, type Pause } from './connection.js';
import { Session, type SessionMessage } from './session.js';
import { type TabLine, type TabTools, lineName, openLine } from './tabs.js';
import type { TokenStore } from './tokens.js';

type Message = SessionMessage | { readonly kind: 'paused'; readonly pause: Pause };

/** What all tabs on one service share, whatever the account: limits count by the machine. */
export class SharedState {
  readonly session: Session;
  readonly connection: Connection;
  private readonly line: TabLine<Message> | undefined;

  constructor(
    readonly tabs: TabTools,
    readonly baseUrl: string,
    tokens: TokenStore,
  ) {
    this.line = openLine<Message>(tabs, lineName(baseUrl), (message) => this.hear(message));
    this.session = new Session(tokens, (message) => this.line?.say(message));
    this.connection = new Connection((pause) => this.line?.say({ kind: 'paused', pause }));
  }

  private hear(message: Message): void {
    if (message.kind === 'paused') this.connection.paused(message.pause, false);
    else void this.session.hear(message);
  }
}

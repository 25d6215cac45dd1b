import { type Observable, Subject } from './observable.js';
import { type TokenStore, claimsOf } from './tokens.js';

/** Why a session ended: by the user, here or in another tab, or by what the service says of the token. */
export type SessionEnd = 'signed_out' | 'token_expired' | 'token_revoked' | 'invalid_token' | 'unauthorized';

export interface SessionState {
  readonly signedIn: boolean;
  /** Who has signed in, in lower case, as the token says. */
  readonly address: string | null;
  /** When the token ends by itself, in milliseconds since 1970. */
  readonly expiresAt: number | null;
  /** Why there is no session any more; null before the first one. */
  readonly ended: SessionEnd | null;
}

/** What tabs tell each other of their sessions. A token is never sent: `mark` is its end, by which its holders know it. */
export type SessionMessage =
  | { readonly kind: 'session-began' }
  | {
      readonly kind: 'session-ended';
      readonly mark: string;
      readonly address: string | null;
      readonly why: SessionEnd;
      /** Whether all sessions of the account have ended. */
      readonly everywhere: boolean;
    };

const NONE: SessionState = { signedIn: false, address: null, expiresAt: null, ended: null };
const MARK_LENGTH = 12;

/** Who is signed in. Follows the store of tokens, so it does not matter who changes that. */
export class Session implements Observable<SessionState> {
  private readonly subject = new Subject<SessionState>(NONE);
  private token: string | null = null;
  readonly subscribe = this.subject.subscribe;
  /** Resolves once the store has been read. One that answers at once has been read already. */
  readonly ready: Promise<void>;

  constructor(
    private readonly store: TokenStore,
    private readonly tell: (message: SessionMessage) => void,
  ) {
    const token = store.get();
    if (token instanceof Promise) this.ready = token.then((read) => this.know(read));
    else {
      this.know(token);
      this.ready = Promise.resolve();
    }
  }

  get state(): SessionState {
    return this.subject.state;
  }

  /** The store, as the rest of the client uses it. */
  readonly tokens: TokenStore = {
    get: async () => {
      const token = await this.store.get();
      this.know(token);
      return token;
    },
    set: async (token) => {
      if (token === null) return this.end('signed_out');
      await this.store.set(token);
      this.know(token);
      this.tell({ kind: 'session-began' });
    },
  };

  /** Deletes the token, and tells everyone why. */
  async end(why: SessionEnd, { everywhere = false } = {}): Promise<void> {
    const token = await this.store.get();
    await this.store.set(null);
    const { address } = token === null ? NONE : read(token);
    this.know(null, why);
    if (token !== null) this.tell({ kind: 'session-ended', mark: markOf(token), address, why, everywhere });
  }

  /** The service refuses this token. It may have been replaced meanwhile. */
  async refused(token: string, why: SessionEnd): Promise<void> {
    if ((await this.store.get()) === token) await this.end(why);
  }

  async hear(message: SessionMessage): Promise<void> {
    const token = await this.store.get();
    if (message.kind === 'session-began') return this.know(token);
    const { mark, address, why, everywhere } = message;
    // Tabs that share a store find nothing there any more, others still have theirs.
    const known = token ?? this.token;
    if (known === null) return;
    const isMeant = markOf(known) === mark || (everywhere && read(known).address === address);
    if (token !== null && isMeant) await this.store.set(null);
    this.know(isMeant ? null : token, why);
  }

  private know(token: string | null, why: SessionEnd = 'signed_out'): void {
    if (token === this.token) return;
    this.token = token;
    this.subject.change(token === null ? { ...NONE, ended: why } : { ...read(token), ended: null });
  }
}

const markOf = (token: string): string => token.slice(-MARK_LENGTH);

function read(token: string): Pick<SessionState, 'signedIn' | 'address' | 'expiresAt'> {
  const { address, exp } = claimsOf(token);
  return {
    signedIn: true,
    address: typeof address === 'string' ? address.toLowerCase() : null,
    expiresAt: typeof exp === 'number' ? exp * 1000 : null,
  };
}

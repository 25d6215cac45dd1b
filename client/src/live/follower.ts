import type { SavingsEvent } from '../events.js';
import { Leader, type Shared, type Sources } from './leader.js';
import { Listeners, type Observable, Subject } from '../observable.js';
import type { SharedState } from '../shared-state.js';
import { type TabLine, type TabTools, lineName, locked, openLine } from '../tabs.js';
import type { Start } from '../types.js';
import { untilAborted, wait } from '../wait.js';

export interface FollowState {
  /** What is shown; null until it has been read. */
  readonly data: Start | null;
  /** Whether events arrive, in whichever tab. If not, `data` is read from time to time. */
  readonly live: boolean;
  /** The service has given no answer for five seconds. It is asked further. */
  readonly unreachable: boolean;
  /** The service wants no requests until then, in milliseconds since 1970. */
  readonly pausedUntil: number | null;
  /** Why the last read failed; null after one that did not. */
  readonly error: Shared['error'];
  /** The session has ended; see `client.session`. `data` is gone, and nothing comes any more. */
  readonly ended: boolean;
}

type Message =
  | {
      readonly kind: 'state';
      readonly term: number;
      readonly turn: number;
      readonly shared: Shared;
      /** What has happened, for those who know everything up to the cursor `after`. */
      readonly event?: SavingsEvent;
      readonly after?: string;
    }
  /** It is as you know it. */
  | { readonly kind: 'here'; readonly term: number }
  /** Somebody looks at this tab, which knows so much. */
  | { readonly kind: 'looking'; readonly term: number; readonly turn: number }
  | { readonly kind: 'refresh' };

const LOOK_MS = 10_000;
/** How long the tab that leads may take to say that it is there. */
const LEADER_MS = 5_000;
const EMPTY: Shared = { data: null, cursor: undefined, live: false, error: null };

/** What a start page shows, for one account, kept true. One tab reads and follows the stream for all of them. */
export class Follower implements Observable<FollowState> {
  private readonly subject: Subject<FollowState>;
  private readonly eventListeners = new Listeners<SavingsEvent>();
  private readonly address: string | null;
  private readonly stops: (() => void)[] = [];
  private line: TabLine<Message> | undefined;
  private shared = EMPTY;
  /** Of the tab that leads, and of what it said last. */
  private term = 0;
  private turn = 0;
  private heardAt = 0;
  private lookedAt = 0;
  private leading: Leader | undefined;
  private present = new AbortController();
  /** Ends the wait for the lock, to take it instead. */
  private waiting = new AbortController();
  private steals = false;
  readonly subscribe: Observable<FollowState>['subscribe'];

  constructor(
    private readonly service: SharedState,
    private readonly sources: Sources,
  ) {
    const { session, connection, tabs } = service;
    const { unreachable, pausedUntil } = connection.state;
    this.subject = new Subject<FollowState>({
      ...{ data: null, live: false, unreachable, pausedUntil, error: null, ended: false },
    });
    this.subscribe = this.subject.subscribe;
    this.address = session.state.address;
    this.stops.push(
      session.subscribe(({ address }) => void (address !== this.address && this.end())),
      connection.subscribe(() => this.show()),
    );
    this.listen(tabs.window, 'pagehide', () => this.leave());
    this.listen(tabs.window, 'pageshow', () => this.enter());
    this.listen(tabs.page, 'freeze', () => this.leave());
    this.listen(tabs.page, 'resume', () => this.enter());
    this.listen(tabs.page, 'visibilitychange', () => this.look());
    const looks = setInterval(() => this.look(), LOOK_MS);
    this.stops.push(() => clearInterval(looks));
    this.present.abort();
    this.enter();
    // A store that has no token will have none for this follower: a later sign-in starts a new follower.
    void session.ready.then(() => void (session.state.signedIn || this.end()));
  }

  get state(): FollowState {
    return this.subject.state;
  }

  /**
   * What happens, as it happens, in whichever tab it arrives; `reload` if this tab has missed something. `state` contains
   * it once it was read.
   */
  onEvent(listener: (event: SavingsEvent) => void): () => void {
    return this.eventListeners.add(listener);
  }

  /** Wants everything read once more. Rarely needed: what happens arrives by itself. */
  refresh(): void {
    if (this.leading) this.leading.refresh();
    else this.line?.say({ kind: 'refresh' });
  }

  /**
   * Resolves once what is shown fulfils the condition.
   * @throws the signal's reason, or an Error if the session ends before
   */
  until(holds: (data: Start) => boolean, { signal }: { signal?: AbortSignal } = {}): Promise<Start> {
    let forget: (() => void) | undefined;
    const fulfilled = new Promise<Start>((resolve, reject) => {
      const check = ({ data, ended }: FollowState): void => {
        if (data && holds(data)) resolve(data);
        else if (ended) reject(new Error('the session has ended'));
      };
      forget = this.subscribe(check);
      check(this.state);
    });
    return untilAborted(fulfilled, signal).finally(forget);
  }

  /** Follows no more. Another tab goes on. */
  stop(): void {
    for (const stop of this.stops.splice(0)) stop();
    this.leave();
  }

  private get isVisible(): boolean {
    return this.service.tabs.page?.visibilityState !== 'hidden';
  }

  private end(): void {
    this.stop();
    this.shared = EMPTY;
    this.subject.change({ data: null, live: false, error: null, ended: true });
  }

  /** Takes part, as far as it does not yet. */
  private enter(): void {
    if (!this.present.signal.aborted || this.subject.state.ended) return;
    this.present = new AbortController();
    const { tabs, baseUrl } = this.service;
    // Tabs of another account, or on another service, must not hear it. Without an address nobody does.
    const name = lineName(baseUrl, this.address ?? '');
    if (tabs.locks && this.address !== null)
      this.line = openLine<Message>(tabs, name, (message) => this.hear(message));
    void this.compete(name, this.present.signal);
    this.look();
  }

  /** A page that the browser keeps for later must hold nothing. */
  private leave(): void {
    this.present.abort();
    this.line?.close();
    this.line = undefined;
  }

  private hear(message: Message): void {
    if (message.kind === 'looking') {
      if (!this.leading) return;
      this.lookedAt = Date.now();
      this.leading.seen();
      if (message.term === this.term && message.turn === this.turn)
        this.line?.say({ kind: 'here', term: this.term });
      else this.tell();
    } else if (message.kind === 'refresh') this.leading?.refresh();
    // What a tab says that has lost the lead without knowing it is old.
    else if (message.term >= this.term && !this.leading) {
      this.heardAt = Date.now();
      this.term = message.term;
      if (message.kind !== 'state') return;
      const { shared, event, after } = message;
      const { cursor } = this.shared;
      this.turn = message.turn;
      this.shared = shared;
      this.show();
      if (event && (cursor === undefined || cursor === after)) this.eventListeners.call(event);
      else if (cursor !== undefined && cursor !== shared.cursor)
        this.eventListeners.call({ topic: 'reload', id: shared.cursor ?? null });
    }
  }

  /** Says that somebody looks, and takes the lead if the tab that has it does not answer. */
  private look(): void {
    if (!this.isVisible) return;
    this.leading?.seen();
    if (this.leading || !this.line) return;
    const askedAt = Date.now();
    this.line.say({ kind: 'looking', term: this.term, turn: this.turn });
    const { signal } = this.present;
    const jitterMs = Math.random() * 1_000;
    void wait(LEADER_MS + jitterMs, signal).then(
      () => {
        if (this.heardAt >= askedAt || this.leading) return;
        this.steals = true;
        this.waiting.abort();
      },
      () => undefined,
    );
  }

  /**
   * Of all tabs with this name one leads: the one that holds a lock, which the browser passes on when the tab is closed. A
   * tab that the browser has frozen keeps it, until another one steals it. Without locks, or without a line to the others,
   * every tab leads for itself.
   */
  private async compete(name: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const ended = new AbortController();
      const lead = async (): Promise<void> => {
        if (!signal.aborted) await this.lead(AbortSignal.any([signal, ended.signal]));
      };
      this.waiting = new AbortController();
      // A browser takes no signal beside `steal`.
      const how = this.steals ? { steal: true } : { signal: AbortSignal.any([signal, this.waiting.signal]) };
      this.steals = false;
      try {
        await (this.line ? locked(this.service.tabs.locks!, name, how, lead) : lead());
      } catch {
        // Another tab took it, or this one is about to steal it: wait for it once more.
      } finally {
        ended.abort();
      }
    }
  }

  /** Reads and follows the stream for all tabs, until another one does. */
  private async lead(signal: AbortSignal): Promise<void> {
    const isSeen = (): boolean => this.isVisible || Date.now() - this.lookedAt < 2 * LOOK_MS;
    const audience = {
      share: (fields: Partial<Shared>, event?: SavingsEvent) => this.share(fields, event),
      isSeen,
    };
    this.term = Math.max(this.term + 1, Date.now());
    const leader = (this.leading = new Leader(this.sources, this.service.connection, audience, this.shared));
    try {
      await leader.run(signal);
    } finally {
      if (this.leading === leader) this.leading = undefined;
    }
  }

  private share(fields: Partial<Shared>, event?: SavingsEvent): void {
    const after = this.shared.cursor;
    const next = { ...this.shared, ...fields };
    const names = Object.keys(fields) as (keyof Shared)[];
    if (!event && names.every((name) => this.shared[name] === next[name])) return;
    this.shared = next;
    this.turn++;
    this.show();
    this.tell(event, after);
    if (event) this.eventListeners.call(event);
  }

  private tell(event?: SavingsEvent, after?: string): void {
    const { term, turn, shared } = this;
    this.line?.say({ kind: 'state', term, turn, shared, event, after });
  }

  private show(): void {
    const { data, live, error } = this.shared;
    this.subject.change({ data, live, error, ...this.service.connection.state });
  }

  private listen(target: TabTools['window'], name: string, then: () => void): void {
    target?.addEventListener(name, then);
    this.stops.push(() => target?.removeEventListener(name, then));
  }
}

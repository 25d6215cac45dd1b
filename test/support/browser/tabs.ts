import type { TabTools } from '@pooled-savings/client';

type TabLocks = NonNullable<TabTools['locks']>;
type Hear = ReturnType<NonNullable<TabTools['channel']>>['onmessage'];
type Work = (lock?: unknown) => Promise<void>;

interface Waiting {
  tab: Tab;
  work: Work;
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
}

/** Tabs of one browser: locks as Web Locks has them, and lines as BroadcastChannel has them. */
export class TestBrowser {
  readonly lines: { name: string; tab: Tab; hear: Hear }[] = [];
  /** What was said, by whomever. */
  readonly said: { name: string; data: { kind: string } }[] = [];
  readonly held = new Map<string, Waiting>();
  readonly queues = new Map<string, Waiting[]>();

  open(): Tab {
    return new Tab(this);
  }

  next(name: string): void {
    if (this.held.has(name)) return;
    const waiting = this.queues.get(name)?.shift();
    if (!waiting) return;
    this.held.set(name, waiting);
    const release = (): void => {
      if (this.held.get(name) !== waiting) return;
      this.held.delete(name);
      this.next(name);
    };
    void Promise.resolve()
      .then(() => waiting.work())
      .then(waiting.resolve, waiting.reject)
      .finally(release);
  }
}

export class Tab implements TabTools {
  isFrozen = false;
  private visibility: 'visible' | 'hidden' = 'visible';
  private readonly target = new EventTarget();
  private readonly late: (() => void)[] = [];

  constructor(private readonly browser: TestBrowser) {}

  readonly window = this.target as unknown as NonNullable<TabTools['window']>;
  readonly page = Object.defineProperty(this.target, 'visibilityState', {
    get: () => this.visibility,
  }) as unknown as NonNullable<TabTools['page']>;

  readonly channel: NonNullable<TabTools['channel']> = (name) => {
    const line = { name, tab: this as Tab, hear: null as Hear };
    const { lines, said } = this.browser;
    lines.push(line);
    return {
      set onmessage(hear: Hear) {
        line.hear = hear;
      },
      postMessage: (message: { kind: string }) => {
        const data = structuredClone(message);
        this.then(() => {
          said.push({ name, data });
          for (const each of lines)
            if (each !== line && each.name === name) each.tab.then(() => each.hear?.({ data }));
        });
      },
      close: () => {
        line.hear = null;
        if (lines.includes(line)) lines.splice(lines.indexOf(line), 1);
      },
    };
  };

  readonly locks = {
    request: (
      name: string,
      { steal = false, ifAvailable = false, signal }: Parameters<TabLocks['request']>[1],
      work: Work,
    ) =>
      new Promise((resolve, reject) => {
        const { held, queues } = this.browser;
        if (ifAvailable && held.has(name)) return void work(null).then(resolve, reject);
        const waiting = { tab: this as Tab, work, resolve, reject };
        const queue = queues.get(name) ?? [];
        queues.set(name, queue);
        if (steal) {
          const { reject: refuse, tab } = held.get(name) ?? {};
          held.delete(name);
          tab?.then(() => refuse?.(new DOMException('stolen', 'AbortError')));
          queue.unshift(waiting);
        } else queue.push(waiting);
        signal?.addEventListener('abort', () => {
          if (!queue.includes(waiting)) return;
          queue.splice(queue.indexOf(waiting), 1);
          reject(signal.reason as Error);
        });
        this.browser.next(name);
      }),
  };

  /** Does something in this tab, once it is not frozen. */
  then(work: () => void): void {
    if (this.isFrozen) this.late.push(work);
    else setImmediate(work);
  }

  thaw(): void {
    this.isFrozen = false;
    for (const work of this.late.splice(0)) setImmediate(work);
  }

  look(visibility: 'visible' | 'hidden'): void {
    this.visibility = visibility;
    this.tell('visibilitychange');
  }

  tell(event: string): void {
    this.target.dispatchEvent(new Event(event));
  }
}

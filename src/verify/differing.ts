import type { Difference, Findings } from '#verify/checks/findings';

/** So many keys that differ are looked at again in later rounds, to notice when they are mended. */
const MOST = 50;

/** The keys of a walk that differ, with the kinds of their differences. */
export class Differing {
  private readonly all = new Map<string, string[]>();
  private at = 0;

  /** @param tell gets each difference once, not in every round */
  constructor(private readonly tell: (difference: Difference) => void) {}

  get keys(): string[] {
    return [...this.all.keys()];
  }

  /** The kinds of all, once for each key. */
  get kinds(): string[] {
    return [...this.all.values()].flat();
  }

  /** Some of the keys, by turns. */
  turn(count: number): string[] {
    const from = this.at < this.all.size ? this.at : 0;
    const some = this.keys.slice(from, from + count);
    this.at = from + some.length;
    return some;
  }

  clear(): void {
    this.all.clear();
  }

  /** What a look at one key has found. */
  note(key: string, findings: Findings): void {
    const { listed, complete } = findings.report();
    this.put(key, listed, complete);
  }

  /** What a look at many values has found, whose ids are the keys. @param again values that were looked at again */
  noteValues(again: string[], findings: Findings): void {
    const { listed, complete } = findings.report();
    for (const key of new Set([...again, ...listed.map(({ id }) => id)]))
      this.put(
        key,
        listed.filter(({ id }) => id === key),
        complete,
      );
  }

  private put(key: string, found: Difference[], complete: boolean): void {
    const before = this.all.get(key) ?? [];
    found.filter(({ kind }) => !before.includes(kind)).forEach((each) => this.tell(each));
    const now = [...new Set(found.map(({ kind }) => kind))];
    if (now.length === 0) {
      if (complete) this.all.delete(key);
    } else if (this.all.has(key) || this.all.size < MOST) this.all.set(key, now);
  }
}

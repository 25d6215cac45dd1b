/** Length of an event's id, and of the part of it that names its row: `<row>-<place in the row>`. */
const ID = 30;
const ROW = 25;
const DIGITS = 12;

/**
 * How far something knows what happened: everything up to an event, and of some rows behind that one their events too.
 * As text it is the event's id, then `~` and the rows in hexadecimal digits: for each by how much its transaction is
 * greater than that of the row before, and its position.
 */
export class EventCursor {
  private readonly id: string;
  private readonly suffix: string;
  private readonly rows: ReadonlySet<string>;

  constructor(text: string) {
    this.id = text.slice(0, ID);
    this.suffix = text.slice(ID);
    const numbers = this.suffix.slice(1).split('.');
    const rows = new Set<string>();
    let transaction = 0;
    for (let n = 0; n + 1 < numbers.length; n += 2) {
      transaction += parseInt(numbers[n], 16);
      rows.add(`${hex(transaction)}-${hex(parseInt(numbers[n + 1], 16))}`);
    }
    this.rows = rows;
  }

  has(event: string): boolean {
    return event <= this.id || this.rows.has(event.slice(0, ROW));
  }

  /** The same, and what has happened up to an event. */
  after(event: string): string {
    const last = [...this.rows].at(-1);
    const isPast = last === undefined || event.slice(0, ROW) > last;
    return event + (isPast ? '' : this.suffix);
  }

  isBefore(other: EventCursor): boolean {
    return this.id < other.id;
  }
}

const hex = (value: number): string => value.toString(16).padStart(DIGITS, '0');

/**
 * A payload of type T that PostgreSQL has already written as JSON text. Parsing it only to write it again would cost
 * more than the rest of the request; the envelope is put around the text as it is. Interceptors get the parsed T.
 */
export class JsonText<T = unknown> {
  constructor(readonly text: string) {}

  /** The payload itself; JSON.stringify uses it too. */
  toJSON(): T {
    return JSON.parse(this.text) as T;
  }
}

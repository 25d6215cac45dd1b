/**
 * A payload of type T that PostgreSQL wrote as JSON text. Parsing and writing it again would cost more than the rest
 * of the request, so the envelope is put around the text. Interceptors get the parsed T.
 */
export class JsonText<T = unknown> {
  constructor(readonly text: string) {}

  /** The parsed payload. JSON.stringify uses it too. */
  toJSON(): T {
    return JSON.parse(this.text) as T;
  }
}

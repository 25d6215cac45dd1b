/**
 * A payload that PostgreSQL has already written as JSON text. Parsing it only to write it again would cost more
 * than the rest of the request; the envelope is put around the text as it is.
 */
export class JsonText {
  constructor(readonly text: string) {}
}

export class AnswerTooLarge extends Error {}

/** The body of an answer as text. Reading stops at the limit, which closes the connection. @throws AnswerTooLarge */
export async function readBounded({ body }: Response, mostBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the body.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > mostBytes) throw new AnswerTooLarge(`answer of more than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size).toString('utf8');
}

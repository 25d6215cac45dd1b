/** An event as the stream carries it, or a comment, which only says that the stream lives. */
export interface ServerSentEvent {
  /** The last one given so far; null before. */
  id: string | null;
  event: string;
  data: string;
}

/** Reads `text/event-stream` as the HTML standard says; ends with the stream. Every chunk that comes calls `onSign`. */
export async function* parseEvents(
  stream: ReadableStream<Uint8Array>,
  onSign: () => void = () => undefined,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let buffer = '';
  let id: string | null = null;
  let event = '';
  let data: string[] = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      onSign();
      buffer += decoder.decode(value, { stream: true });
      // A carriage return at the end may be half of a line's end.
      const lines = buffer.split(/\r\n|\n|\r(?!$)/);
      buffer = lines.pop()!;
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { id, event: event || 'message', data: data.join('\n') };
          event = '';
          data = [];
          continue;
        }
        const [, field, text] = /^([^:]*):? ?(.*)$/s.exec(line)!;
        if (field === 'event') event = text;
        else if (field === 'data') data.push(text);
        else if (field === 'id' && !text.includes('\0')) id = text;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

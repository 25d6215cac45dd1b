export interface ServerSentEvent {
  event: string;
  data: string;
}

/** Callbacks for what a stream sends besides its events. */
export interface StreamSigns {
  /** Called for every chunk: the stream is alive. */
  onChunk?: () => void;
  /** Called with the id to continue after, before the event that carries it. An id may also come alone. */
  onId?: (id: string) => void;
  /** How long to wait before connecting again. */
  onRetry?: (ms: number) => void;
}

/** Parses `text/event-stream` as the HTML standard defines. Ends with the stream and drops an incomplete last event. */
export async function* parseEvents(
  stream: ReadableStream<Uint8Array>,
  { onChunk, onId, onRetry }: StreamSigns = {},
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let buffer = '';
  let id: string | undefined;
  let event = '';
  let data: string[] = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      onChunk?.();
      buffer += decoder.decode(value, { stream: true });
      // A carriage return at the end may be the first half of a line break.
      const lines = buffer.split(/\r\n|\n|\r(?!$)/);
      buffer = lines.pop()!;
      for (const line of lines) {
        if (line === '') {
          if (id !== undefined) onId?.(id);
          if (data.length > 0) yield { event: event || 'message', data: data.join('\n') };
          event = '';
          data = [];
          id = undefined;
          continue;
        }
        const [, field, text] = /^([^:]*):? ?(.*)$/s.exec(line)!;
        if (field === 'event') event = text;
        else if (field === 'data') data.push(text);
        else if (field === 'id' && !text.includes('\0')) id = text;
        else if (field === 'retry' && /^\d+$/.test(text)) onRetry?.(Number(text));
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

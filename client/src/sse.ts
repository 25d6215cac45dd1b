export interface ServerSentEvent {
  event: string;
  data: string;
}

/** What a stream says beside its events. */
export interface StreamSigns {
  /** With every chunk: the stream lives. */
  onChunk?: () => void;
  /** Where to go on after; before the event that brought it, and also by itself. */
  onId?: (id: string) => void;
  /** How long to wait before connecting again. */
  onRetry?: (ms: number) => void;
}

/** Reads `text/event-stream` as the HTML standard says; ends with the stream, without an event that is not complete. */
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
      // A carriage return at the end may be half of a line's end.
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

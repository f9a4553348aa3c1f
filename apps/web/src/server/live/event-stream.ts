// Parser of text/event-stream (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream).
// Returns only the data of events; comments are keep-alives and are dropped.

const EVENT_CHARS_MAX = 4 * 1024 * 1024;

export class EventStreamError extends Error {}

/** Yields the data of each complete event. Throws when an event exceeds the largest size that is ever sent. */
export async function* readEventData(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line[5] === ' ' ? 6 : 5));
      }
    }
    if (rest.length + data.reduce((sum, line) => sum + line.length, 0) > EVENT_CHARS_MAX) {
      throw new EventStreamError('an event is too large');
    }
  }
}

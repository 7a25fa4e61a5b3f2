import { parseJson } from '@tidemark/protocol';
import { linesOf } from './lines.ts';

export interface ServerEvent {
  readonly name: string;
  readonly data: unknown;
}

/** Yields Server-Sent Events as they arrive. Comments are heartbeats and only call `onBytes`. */
export async function* readEvents(
  response: Response,
  onBytes: () => void,
  signal: AbortSignal,
): AsyncGenerator<ServerEvent> {
  let name = '';
  let data: string[] = [];
  for await (const line of linesOf(response, onBytes, signal)) {
    if (line === '') {
      const event = eventOf(name, data);
      if (event !== null) yield event;
      name = '';
      data = [];
      continue;
    }
    const { field, value } = fieldOf(line);
    if (field === 'event') name = value;
    else if (field === 'data') data.push(value);
  }
}

function fieldOf(line: string): { readonly field: string; readonly value: string } {
  const colon = line.indexOf(':');
  if (colon < 0) return { field: line, value: '' };
  const value = line.slice(colon + 1);
  return { field: line.slice(0, colon), value: value.startsWith(' ') ? value.slice(1) : value };
}

/** Events are hints: an unreadable one is ignored. */
function eventOf(name: string, data: readonly string[]): ServerEvent | null {
  if (name === '' || data.length === 0) return null;
  try {
    return { name, data: parseJson(data.join('\n')) };
  } catch {
    return null;
  }
}

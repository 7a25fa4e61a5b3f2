import { parseJson } from '@tidemark/protocol';

type Fields = Readonly<Record<string, unknown>>;

const LEVEL_WIDTH = 5;
const COLOURS: Readonly<Record<string, number>> = { debug: 90, info: 32, warn: 33, error: 31, fatal: 31 };
const GREY = 90;
/** What needs no quotes: no space, quote, equals sign or character that a terminal would act on. */
const PLAIN = /^[^\s"=\p{C}]+$/u;
const ACTED_ON = /\p{Cc}/gu;

/** Turns a line of JSON into a line for people. Only the stack of an error takes further lines. */
export function prettyLine(line: string, isColoured: boolean): string {
  let fields: Fields;
  try {
    fields = parseJson(line) as Fields;
  } catch {
    return line;
  }
  const { time, level, event, err, ...rest } = fields;
  const colour = (code: number, text: string) => (isColoured ? `\u001b[${code}m${text}\u001b[39m` : text);
  const name = String(level);
  const parts = [
    colour(GREY, timeOfDay(String(time))),
    colour(COLOURS[name] ?? GREY, name.toUpperCase().padEnd(LEVEL_WIDTH)),
    ...(event === 'request' ? requestParts(rest) : [printable(String(event ?? '')), ...pairsOf(rest)]),
  ];
  return `${parts.join(' ')}\n${err === undefined ? '' : stackOf(err)}`;
}

/** What a request was and what came of it, in the order in which one reads it. What is null is left out. */
function requestParts({ method, route, path, status, code, duration_ms, user_id, ...rest }: Fields): readonly string[] {
  const known = [code, user_id].filter((value) => value !== null && value !== undefined).map(shown);
  const leading = [printable(`${method} ${path ?? route}`), String(status ?? 'hung up'), ...known, `${duration_ms} ms`];
  return [...leading, ...pairsOf(Object.fromEntries(Object.entries(rest).filter(([, value]) => isShown(value))))];
}

const isShown = (value: unknown) => value !== null && value !== false;

function pairsOf(fields: Fields): readonly string[] {
  return Object.entries(fields).map(([name, value]) => `${printable(name)}=${shown(value)}`);
}

function shown(value: unknown): string {
  return typeof value === 'string' && PLAIN.test(value) ? value : printable(JSON.stringify(value) ?? 'undefined');
}

function stackOf(error: unknown): string {
  const { stack, message } = error as { readonly stack?: unknown; readonly message?: unknown };
  const lines = String(stack ?? message ?? JSON.stringify(error)).split('\n');
  return lines.map((line) => `    ${printable(line)}\n`).join('');
}

function printable(text: string): string {
  return text.replaceAll(ACTED_ON, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The time of day where the server runs. */
function timeOfDay(iso: string): string {
  const at = new Date(iso);
  const digits = (value: number, width = 2) => String(value).padStart(width, '0');
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map((value) => digits(value)).join(':');
  return `${clock}.${digits(at.getMilliseconds(), 3)}`;
}

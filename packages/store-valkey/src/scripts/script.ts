import { createHash } from 'node:crypto';
import { REGISTRY_KEYS } from '../layout.ts';
import { type Argument, encodeList, type List } from '../wire.ts';

/**
 * The arguments of a script, in the order in which they are sent. `encoderOf` writes them and `readArguments`
 * generates the Lua code that reads them, so the two sides cannot disagree. An `upTo` here is called `up_to` in Lua.
 *
 * - `text`, `number`; `flag`: a boolean; `optional_number`: nil in Lua when it is null here
 * - `list`: a list of texts
 * - an array of names: a list of rows with these columns, which are texts in Lua
 * - an object: a table of its own, or nil when it is null here
 */
export interface Parameters {
  readonly [name: string]: Kind;
}

type Kind = 'text' | 'number' | 'flag' | 'optional_number' | 'list' | readonly string[] | Parameters;

export type ValuesOf<P extends Parameters> = { readonly [Name in keyof P]: ValueOf<P[Name]> };

type ValueOf<K extends Kind> = K extends 'text'
  ? string
  : K extends 'number'
    ? number
    : K extends 'flag'
      ? boolean
      : K extends 'optional_number'
        ? number | null
        : K extends 'list'
          ? List
          : K extends readonly (infer Column extends string)[]
            ? readonly Readonly<Record<Column, string | number>>[]
            : K extends Parameters
              ? ValuesOf<K> | null
              : never;

/** A Lua script, which the server runs as one atomic step. */
export interface RunnableScript {
  readonly name: string;
  readonly effect: Effect;
  readonly text: string;
  readonly sha: string;
}

export interface Script<P extends Parameters = Parameters> extends RunnableScript {
  args(values: ValuesOf<P>, into?: Argument[]): Argument[];
}

/** Scripts that only read or free memory say so in a flag: the server then runs them while its memory is exhausted. */
export type Effect = 'reads' | 'writes' | 'frees';

const FLAGS: Readonly<Record<Effect, string>> = { reads: ' flags=no-writes', writes: '', frees: ' flags=allow-oom' };

export interface ScriptSpec<P extends Parameters> {
  readonly effect: Effect;
  /** Lua code in front of everything else: names for the keys. */
  readonly keys?: string;
  readonly parameters: P;
  /** Lua functions that the body calls. They may use the keys and the parameters. */
  readonly uses?: readonly string[];
  readonly body: string;
}

export function script<const P extends Parameters>(name: string, spec: ScriptSpec<P>): Script<P> {
  const { effect, keys = '', parameters, uses = [], body } = spec;
  const basics = effect === 'reads' ? [BASICS] : [BASICS, WINDOW];
  const text = [`#!lua${FLAGS[effect]}`, ...basics, keys, readArguments('local ', parameters), ...uses, body].join(
    '\n',
  );
  return {
    name,
    effect,
    text,
    sha: createHash('sha1').update(text).digest('hex'),
    args: encoderOf(parameters),
  };
}

/** A script that uses the keys of the registry. */
export function registryScript<const P extends Parameters>(name: string, spec: Omit<ScriptSpec<P>, 'keys'>): Script<P> {
  return script(name, { ...spec, keys: nameKeys(REGISTRY_KEYS) });
}

/** Lua names for keys: `scopes_by_source` is called `SCOPES_BY_SOURCE`. */
export function nameKeys(keys: readonly string[], first = 1): string {
  const names = keys.map((key) => key.toUpperCase()).join(', ');
  return lua`local ${names} = unpack(KEYS, ${first}, ${first + keys.length - 1})`;
}

/** Returns the function that writes arguments. It is made once for each script: writing happens with every call. */
export function encoderOf<P extends Parameters>(parameters: P): Encoder<P> {
  const writers = Object.entries(parameters).map(([name, kind]) => ({ name, write: writerOf(kind) }));
  return (values, into = []) => {
    for (const { name, write } of writers) write(values[name] as never, into);
    return into;
  };
}

/** Appends the arguments to `into`, which is a new array by default, and returns it. */
export type Encoder<P extends Parameters> = (values: ValuesOf<P>, into?: Argument[]) => Argument[];

function writerOf(kind: Kind): (value: never, into: Argument[]) => void {
  if (Array.isArray(kind)) return (rows, into) => writeRows(kind, rows, into);
  if (typeof kind === 'object') return tableWriter(encoderOf(kind as Parameters));
  if (kind === 'list') return (list, into) => into.push(...encodeList(list));
  if (kind === 'flag') return (value, into) => into.push(value ? '1' : '');
  return (value: Argument | null, into) => into.push(value ?? '');
}

function tableWriter(encode: Encoder<Parameters>): (table: ValuesOf<Parameters> | null, into: Argument[]) => void {
  return (table, into) => {
    into.push(table === null ? '' : '1');
    if (table !== null) encode(table, into);
  };
}

function writeRows(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, string | number>>[],
  into: Argument[],
): void {
  const flat: (string | number)[] = [];
  for (const row of rows) for (const column of columns) flat.push(row[column] ?? '');
  into.push(...encodeList(flat));
}

/** Lua code that reads arguments: into local variables, or, with the target `permit.`, into a table. */
export function readArguments(target: string, parameters: Parameters): string {
  return Object.entries(parameters)
    .map(([name, kind]) => readArgument(target + luaName(name), kind))
    .join('\n');
}

function luaName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function readArgument(variable: string, kind: Kind): string {
  if (Array.isArray(kind)) {
    const fields = kind.map((column, index) => `${luaName(column)} = flat[at + ${index}]`).join(', ');
    return lua`${variable} = take_rows(${kind.length}, function(flat, at) return { ${fields} } end)`;
  }
  if (typeof kind === 'object') {
    const table = variable.replace('local ', '');
    return lua`${variable} = take() == '1' and {} or nil
if ${table} then
${readArguments(`${table}.`, kind as Parameters)}
end`;
  }
  return `${variable} = ${READERS[kind as keyof typeof READERS]}`;
}

const READERS = {
  text: 'take()',
  number: 'take_number()',
  flag: "take() == '1'",
  optional_number: 'take_number()',
  list: 'take_list()',
};

/** Marks a template as Lua for editors, and inserts numbers and names. */
export function lua(strings: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: strings.raw }, ...values);
}

/** Members passed to one command: Lua can unpack about 8,000 values at once. */
export const CHUNK = 1_000;

/** Functions for reading arguments, which are taken one after the other, and for numbers and time. */
const BASICS = lua`
local taken = 0
local function take() taken = taken + 1; return ARGV[taken] end
local function take_number() return tonumber(take()) end
-- A list is its length and its members or, if it is long, the negated number of packs and the packs: thousands of
-- arguments would cost more than all the rest.
local function take_list()
  local list, count = {}, take_number()
  for index = 1, count do list[index] = take() end
  for _ = 1, -count do
    for _, member in ipairs(cmsgpack.unpack(take())) do list[#list + 1] = member end
  end
  return list
end
local function take_rows(columns, row_at)
  local flat, rows = take_list(), {}
  for first = 1, #flat, columns do rows[#rows + 1] = row_at(flat, first) end
  return rows
end
local function whole(number) return string.format('%.0f', number) end
local function now_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
-- Calls back for one bounded part of a list after the other, as commands take them.
local function in_chunks(list, size, call)
  for first = 1, #list, size do call(first, math.min(first + size - 1, #list)) end
end`;

/** Appends fields of a hash to a reply, each followed by its value. */
export const APPEND_FIELDS = lua`
local function append_fields(reply, key, fields)
  in_chunks(fields, ${CHUNK}, function(first, last)
    local values = redis.call('HMGET', key, unpack(fields, first, last))
    for index = first, last do
      reply[#reply + 1] = fields[index]
      reply[#reply + 1] = values[index - first + 1]
    end
  end)
  return reply
end`;

/**
 * A script that writes refuses to run outside the window that the connection puts in front of its arguments (`StoreClock`).
 * The refusal names the time by the clock of the node.
 */
const WINDOW = lua`
local earliest_us, latest_us, at_us = take_number(), take_number(), now_us()
if at_us < earliest_us or at_us > latest_us then return redis.error_reply('LATE ' .. whole(at_us)) end`;

import type { Conflicts, PushNotify, Source, SyncType } from '@tidemark/protocol';

/** The attributes of a source as a form has them. */
export interface SourceForm {
  readonly adapter: string;
  readonly poll: string;
  readonly syncType: SyncType;
  readonly conflicts: Conflicts;
  readonly isReadOnly: boolean;
  readonly pushNotify: PushNotify;
  readonly queue: string;
  readonly queryQueue: string;
  readonly cudQueue: string;
  /** A line for each attribute: its name, a colon, and the source. */
  readonly references: string;
}

export const NEW_SOURCE: SourceForm = {
  ...{
    adapter: 'none',
    poll: '',
    syncType: 'incremental',
    conflicts: 'last_writer',
    isReadOnly: false,
    pushNotify: false,
  },
  ...{ queue: '', queryQueue: '', cudQueue: '', references: '' },
};

export function formOf(source: Source): SourceForm {
  return {
    adapter: source.adapter,
    poll: String(source.poll_interval),
    syncType: source.sync_type,
    conflicts: source.conflicts,
    isReadOnly: source.read_only,
    pushNotify: source.push_notify,
    queue: source.queue ?? '',
    queryQueue: source.query_queue ?? '',
    cudQueue: source.cud_queue ?? '',
    references: Object.entries(source.references)
      .map(([attribute, name]) => `${attribute}: ${name}`)
      .join('\n'),
  };
}

/** Returns what is wrong with the form, by its field. */
export function problemsOf({ poll, references }: SourceForm): Partial<Record<keyof SourceForm, string>> {
  const bad = linesOf(references).find((line) => parseLine(line) === null);
  return {
    ...(/^(?:-1|[0-9]*)$/.test(poll) ? {} : { poll: 'A whole number of seconds, or -1.' }),
    ...(bad === undefined ? {} : { references: `“${bad}” is not an attribute, a colon and a source.` }),
  };
}

/** Returns the attributes as the API takes them. The poll interval is left to the server where it is empty. */
export function attributesOf(form: SourceForm) {
  return {
    adapter: form.adapter.trim() === '' ? 'none' : form.adapter.trim(),
    ...(form.poll === '' ? {} : { poll_interval: Number(form.poll) }),
    sync_type: form.syncType,
    conflicts: form.conflicts,
    read_only: form.isReadOnly,
    push_notify: form.pushNotify,
    queue: nameOrNull(form.queue),
    query_queue: nameOrNull(form.queryQueue),
    cud_queue: nameOrNull(form.cudQueue),
    references: Object.fromEntries(linesOf(form.references).flatMap((line) => [parseLine(line) ?? []].filter(isPair))),
  };
}

/** Returns the attributes that differ, so that what others change meanwhile, and defaults of the server, stay. */
export function changesOf(before: SourceForm, after: SourceForm): Partial<ReturnType<typeof attributesOf>> {
  const old: Readonly<Record<string, unknown>> = attributesOf(before);
  const differs = ([name, value]: readonly [string, unknown]) => JSON.stringify(value) !== JSON.stringify(old[name]);
  return Object.fromEntries(Object.entries(attributesOf(after)).filter(differs));
}

function isPair(pair: readonly string[]): pair is readonly [string, string] {
  return pair.length === 2;
}

function nameOrNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Names of attributes may hold a colon; the last one divides. */
function parseLine(line: string): readonly [string, string] | null {
  const at = line.lastIndexOf(':');
  const [attribute, source] = [line.slice(0, Math.max(0, at)).trim(), line.slice(at + 1).trim()];
  return at === -1 || attribute === '' || source === '' ? null : [attribute, source];
}

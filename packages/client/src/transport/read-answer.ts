import type {
  DeviceSession,
  GroupPages,
  Outcome,
  Page,
  PartialError,
  PullAnswer,
  PushAnswer,
  SyncSources,
} from '@tidemark/protocol';
import { clientError } from '../client-error.ts';

/**
 * Converts the body of an answer. Captive portals and proxies may send anything, so its shape is checked; the values
 * inside are trusted.
 */
export type ReadAnswer<T> = (body: unknown) => T;

type Members = Readonly<Record<string, unknown>>;

export const readSession: ReadAnswer<DeviceSession> = (body) => {
  const session = members(body, 'the session');
  for (const name of ['token', 'user_id', 'client_id', 'expires_at']) text(session[name], name);
  return session as unknown as DeviceSession;
};

export const readSources: ReadAnswer<SyncSources> = (body) => {
  const { sources } = members(body, 'the answer');
  for (const source of list(sources, 'sources')) text(members(source, 'a source').name, 'name');
  return body as SyncSources;
};

export const readPull: ReadAnswer<PullAnswer> = (body) => {
  const { sources, outcomes } = members(body, 'the answer');
  for (const page of Object.values(members(sources, 'sources'))) readPageOrTrouble(page);
  list(outcomes, 'outcomes').forEach(readOutcome);
  return body as PullAnswer;
};

export const readPush: ReadAnswer<PushAnswer> = (body) => {
  list(members(body, 'the answer').outcomes, 'outcomes').forEach(readOutcome);
  return body as PushAnswer;
};

export const readAnything: ReadAnswer<unknown> = (body) => body;

export const readPage: ReadAnswer<Page> = (body) => {
  const page = members(body, 'a page');
  text(page.token, 'token');
  if (typeof page.more !== 'boolean') throw wrong('more', 'true or false');
  if (typeof page.size !== 'number') throw wrong('size', 'a number');
  if (page.checksum !== undefined && typeof page.checksum !== 'number') throw wrong('checksum', 'a number');
  for (const name of ['put', 'patch'] as const) {
    const objects = members(page[name] ?? {}, name);
    // With thousands of names this is several times as fast as `Object.values`.
    for (const id of Object.keys(objects)) members(objects[id], name);
  }
  for (const names of Object.values(members(page.drop ?? {}, 'drop'))) texts(names, 'drop');
  texts(page.delete ?? [], 'delete');
  return page as unknown as Page;
};

/** A source that could not be pulled has an error and no token. */
export function isPage(page: Page | GroupPages | { readonly error: PartialError }): page is Page {
  return 'token' in page;
}

export function isGroups(page: Page | GroupPages | { readonly error: PartialError }): page is GroupPages {
  return 'groups' in page;
}

function readPageOrTrouble(body: unknown): void {
  const { token, groups, error } = members(body, 'a page');
  if (groups !== undefined) readGroups(body);
  else if (token !== undefined) readPage(body);
  else text(members(error, 'error').code, 'code');
}

function readGroups(body: unknown): void {
  const { groups, gone, changed, set_token: set = null, more } = members(body, 'the groups');
  for (const page of Object.values(members(groups, 'groups'))) readPageOrTrouble(page);
  texts(gone ?? [], 'gone');
  texts(changed ?? [], 'changed');
  if (set !== null) text(set, 'set_token');
  if (typeof more !== 'boolean') throw wrong('more', 'true or false');
}

function readOutcome(body: unknown): Outcome {
  const outcome = members(body, 'an outcome');
  for (const name of ['op_id', 'source', 'status', 'id']) text(outcome[name], name);
  return outcome as unknown as Outcome;
}

function members(value: unknown, what: string): Members {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members;
  throw wrong(what, 'an object');
}

function list(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw wrong(what, 'a list');
}

function texts(value: unknown, what: string): void {
  for (const item of list(value, what)) text(item, what);
}

function text(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw wrong(what, 'a text');
}

function wrong(what: string, expected: string): Error {
  return clientError('bad_answer', `the answer does not come from a Tidemark server: ${what} is not ${expected}`);
}

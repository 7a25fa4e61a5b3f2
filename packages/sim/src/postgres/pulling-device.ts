import type { DeviceSession, PullAnswer } from '@tidemark/protocol';
import { Caller } from '@tidemark/testing/kit';

type Attributes = Readonly<Record<string, unknown>>;

/** One partition on the device. */
interface Held {
  readonly token: string;
  readonly objects: ReadonlyMap<string, Attributes>;
}

interface ReadPage {
  readonly token: string;
  readonly more: boolean;
  readonly reset?: boolean;
  readonly delete?: readonly string[];
  readonly put?: Readonly<Record<string, Attributes>>;
  readonly patch?: Readonly<Record<string, Attributes>>;
  readonly drop?: Readonly<Record<string, readonly string[]>>;
}

interface GroupPages {
  readonly groups: Readonly<Record<string, ReadPage | { readonly error: unknown }>>;
  readonly gone?: readonly string[];
  readonly more: boolean;
}

const PULLS_MAX = 200;
/** What is pulled of a source that has no groups. */
export const WHOLE = '*';

/** A device that pulls over HTTP, and holds what the pages say. It knows no more than the protocol. */
export class PullingDevice {
  readonly login: string;
  /** How many objects pages have put, patched or deleted. */
  changes = 0;
  readonly #session: DeviceSession;
  readonly #api: Caller;
  readonly #sources: ReadonlyMap<string, 'groups' | 'whole'>;
  /** Source, then group or `WHOLE`. */
  readonly #held = new Map<string, Map<string, Held>>();

  private constructor(
    login: string,
    session: DeviceSession,
    api: Caller,
    sources: ReadonlyMap<string, 'groups' | 'whole'>,
  ) {
    this.login = login;
    this.#session = session;
    this.#api = api;
    this.#sources = sources;
  }

  static async open(
    url: string,
    { login, password }: { readonly login: string; readonly password: string },
    sources: ReadonlyMap<string, 'groups' | 'whole'>,
  ): Promise<PullingDevice> {
    const door = new Caller(url, null);
    const { body, status, text } = await door.post('/sync/v1/login', { login, password });
    door.close();
    if (status !== 200) throw new Error(`the login of ${login} was answered ${status}: ${text}`);
    const session = body as DeviceSession;
    return new PullingDevice(login, session, new Caller(url, session.token), sources);
  }

  /** What it holds: source, then group or `WHOLE`, then objects. */
  get held(): ReadonlyMap<string, ReadonlyMap<string, Held>> {
    return this.#held;
  }

  /** Pulls until nothing more is waiting. */
  async pull(): Promise<void> {
    for (let pull = 0; pull < PULLS_MAX; pull++) if (!(await this.#pullOnce())) return;
    throw new Error(`${this.login} had no end of pages after ${PULLS_MAX} pulls`);
  }

  close(): void {
    this.#api.close();
  }

  /** Returns whether there is more. */
  async #pullOnce(): Promise<boolean> {
    const sources = Object.fromEntries([...this.#sources].map(([source, kind]) => [source, this.#asked(source, kind)]));
    const { body, status, text } = await this.#api.post('/sync/v1/pull', {
      client_id: this.#session.client_id,
      sources,
    });
    if (status !== 200) throw new Error(`a pull of ${this.login} was answered ${status}: ${text}`);
    let hasMore = false;
    for (const [source, answer] of Object.entries((body as PullAnswer).sources)) {
      if ('error' in answer) {
        // The connector has not declared it yet.
        this.#held.delete(source);
      } else if ('groups' in answer) hasMore = this.#applyGroups(source, answer as GroupPages) || hasMore;
      else hasMore = this.#apply(source, WHOLE, answer as ReadPage) || hasMore;
    }
    return hasMore;
  }

  #asked(source: string, kind: 'groups' | 'whole'): object {
    const held = this.#held.get(source);
    if (kind === 'whole') return { token: held?.get(WHOLE)?.token ?? null };
    return { groups: Object.fromEntries([...(held ?? [])].map(([group, { token }]) => [group, { token }])) };
  }

  #applyGroups(source: string, { groups, gone = [], more }: GroupPages): boolean {
    for (const group of gone) this.#held.get(source)?.delete(group);
    for (const [group, page] of Object.entries(groups)) if (!('error' in page)) this.#apply(source, group, page);
    return more;
  }

  #apply(source: string, owner: string, page: ReadPage): boolean {
    const of = this.#held.get(source) ?? new Map<string, Held>();
    const objects = new Map(page.reset === true ? [] : of.get(owner)?.objects);
    for (const id of page.delete ?? []) objects.delete(id);
    for (const [id, attributes] of Object.entries(page.put ?? {})) objects.set(id, attributes);
    for (const [id, names] of Object.entries(page.drop ?? {})) {
      const left = Object.entries(objects.get(id) ?? {}).filter(([name]) => !names.includes(name));
      objects.set(id, Object.fromEntries(left));
    }
    for (const [id, patch] of Object.entries(page.patch ?? {})) objects.set(id, { ...objects.get(id), ...patch });
    this.changes +=
      (page.delete?.length ?? 0) +
      [page.put, page.patch, page.drop].reduce((sum, one) => sum + Object.keys(one ?? {}).length, 0);
    this.#held.set(source, of.set(owner, { token: page.token, objects }));
    return page.more;
  }
}

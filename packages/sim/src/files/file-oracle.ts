import { FILES, GRACE_MS, GROUPS, type Place, SIZE, USERS, type Written } from './step.ts';

/** What is known of the rights to a file in a place. What is `sure` must be granted, what is not `possible` must not be. */
interface Right {
  readonly place: Place;
  sure: boolean;
  possible: boolean;
  /** Who has referred to the file here. False: the claim may have been collected since. */
  readonly claimants: Map<string, boolean>;
  /** Whether such a reference stands since it was made: then the backend only repeats it. */
  isUnproven: boolean;
}

interface Sent {
  /** The bytes cannot have been removed since. */
  sure: boolean;
}

/** What is known of the bytes of a file. `maybe`: the collector may have removed them. */
type Presence = 'no' | 'maybe' | 'yes';

const BACKEND = '';

/**
 * Knows what the server must do, without looking at how: objects are a plain map, rights follow from what happened, and
 * where the order of two things is not known, both answers are allowed.
 */
export class FileOracle {
  readonly #objects = new Map<string, string>();
  readonly #places = new Map<string, Place>();
  readonly #rights = new Map<string, Right>();
  readonly #sent = new Map<string, Map<string, Sent>>();
  readonly #groups = new Map<string, readonly string[]>();
  readonly #presence = new Map<string, Presence>(FILES.map((file) => [file, 'no']));
  /** When a file was last sent or referred to. */
  readonly #protectedMs = new Map<string, number>();

  constructor() {
    for (const user of USERS) this.#groups.set(user, GROUPS);
  }

  groupsOf(user: string): readonly string[] {
    return this.#groups.get(user) ?? [];
  }

  setGroups(user: string, groups: readonly string[]): void {
    this.#groups.set(user, groups);
  }

  has({ place, object }: Pick<Written, 'place' | 'object'>): boolean {
    return this.#objects.has(keyOf(place, object));
  }

  /** Null: the backend writes. */
  write({ place, object, file }: Written, login: string | null, nowMs: number): void {
    const key = keyOf(place, object);
    const before = this.#objects.get(key);
    if (before === file) return;
    if (file === null) {
      this.#objects.delete(key);
      this.#release(place, before, nowMs);
      return;
    }
    const isNew = !this.#isReferredIn(place, file);
    this.#objects.set(key, file);
    this.#places.set(nameOf(place), place);
    this.#claim(place, file, login, isNew);
    if (this.#presence.get(file) !== 'no') this.#protectedMs.set(file, nowMs);
    this.#release(place, before, nowMs);
  }

  /** The bytes are acknowledged. */
  stored(file: string, login: string | null, nowMs: number): void {
    this.#presence.set(file, 'yes');
    this.#protectedMs.set(file, nowMs);
    const senders = this.#sent.get(file) ?? new Map<string, Sent>();
    this.#sent.set(file, senders.set(login ?? BACKEND, { sure: true }));
    this.#proveAll(file, login);
  }

  /** The sender was told that the file is here. */
  kept(file: string, login: string | null, nowMs: number): void {
    this.#presence.set(file, 'yes');
    this.#protectedMs.set(file, nowMs);
    this.#proveAll(file, login);
  }

  /** Something arrived of which it is not known whether it was noted. */
  unsure(file: string, nowMs: number): void {
    if (this.#presence.get(file) === 'no') this.#presence.set(file, 'maybe');
    if (this.#presence.get(file) === 'maybe') this.#protectedMs.set(file, nowMs);
  }

  replaceUser(user: string, nowMs: number): void {
    this.#erase({ kind: 'user', user }, nowMs);
    for (const senders of this.#sent.values()) senders.delete(user);
    for (const right of this.#rights.values()) {
      right.claimants.delete(user);
      if ([...right.claimants.keys()].every((claimant) => claimant === BACKEND)) right.isUnproven = false;
    }
    this.#groups.set(user, []);
  }

  dropGroups(nowMs: number): void {
    for (const group of GROUPS) this.#erase({ kind: 'group', group }, nowMs);
  }

  /** The collector may remove files from now on, or has done so until now. */
  collecting(nowMs: number): void {
    for (const file of FILES) {
      const isYoung = nowMs < (this.#protectedMs.get(file) ?? 0) + GRACE_MS;
      if (isYoung || this.isReferred(file) || this.#presence.get(file) === 'no') continue;
      this.#presence.set(file, 'maybe');
      for (const sent of this.#sent.get(file)?.values() ?? []) sent.sure = false;
    }
  }

  /** Takes over what the server has where both answers are allowed. */
  observe(file: string, isStored: boolean): void {
    if (this.#presence.get(file) !== 'maybe') return;
    this.#presence.set(file, isStored ? 'yes' : 'no');
    if (!isStored) this.#sent.delete(file);
  }

  presence(file: string): Presence {
    return this.#presence.get(file) ?? 'no';
  }

  isReferred(file: string): boolean {
    return [...this.#objects.values()].includes(file);
  }

  mayRead(user: string, file: string): Pick<Right, 'sure' | 'possible'> {
    let [sure, possible] = [false, false];
    for (const place of this.#places.values()) {
      if (!this.#isReadable(user, place) || !this.#isReferredIn(place, file)) continue;
      const right = this.#rights.get(`${nameOf(place)}\n${file}`);
      sure ||= right?.sure === true;
      possible ||= right?.possible === true;
    }
    return { sure, possible };
  }

  /** The bounds of the bytes that count for a user when nothing is under way. */
  bytesSent(user: string): { readonly least: number; readonly most: number } {
    const sent = FILES.flatMap((file) => this.#sent.get(file)?.get(user) ?? []);
    return { least: sent.filter(({ sure }) => sure).length * SIZE, most: sent.length * SIZE };
  }

  #isReadable(user: string, place: Place): boolean {
    if (place.kind === 'all') return true;
    return place.kind === 'user' ? place.user === user : this.groupsOf(user).includes(place.group);
  }

  #claim(place: Place, file: string, login: string | null, isNew: boolean): void {
    const name = `${nameOf(place)}\n${file}`;
    const fresh: Right = { place, sure: false, possible: false, claimants: new Map(), isUnproven: false };
    const right = this.#rights.get(name) ?? fresh;
    this.#rights.set(name, right);
    const senders = this.#sent.get(file);
    if (login === null) {
      const hasSent = senders?.has(BACKEND) === true;
      if (!right.isUnproven || hasSent) right.possible = true;
      const isAlone = [...right.claimants.keys()].every((claimant) => claimant === BACKEND);
      if (isAlone || senders?.get(BACKEND)?.sure === true) right.sure = true;
      right.claimants.set(BACKEND, true);
      return;
    }
    const readable = this.mayRead(login, file);
    right.claimants.set(login, true);
    if (senders?.has(login) || (readable.possible && !this.#isOnlyHere(place, file, login))) right.possible = true;
    if (senders?.get(login)?.sure === true) this.#prove(right);
    if (isNew && !right.possible) right.isUnproven = true;
  }

  /** Whether what makes the file readable is the reference that is being made. */
  #isOnlyHere(place: Place, file: string, login: string): boolean {
    const others = [...this.#places.values()].filter((one) => nameOf(one) !== nameOf(place));
    return !others.some((one) => {
      const right = this.#rights.get(`${nameOf(one)}\n${file}`);
      return this.#isReadable(login, one) && this.#isReferredIn(one, file) && right?.possible === true;
    });
  }

  /** Where nothing refers to the file, the claim may have been collected. */
  #proveAll(file: string, login: string | null): void {
    for (const [key, right] of this.#rights) {
      const isClaimed = right.claimants.get(login ?? BACKEND);
      if (!key.endsWith(`\n${file}`) || isClaimed === undefined) continue;
      if (isClaimed && this.#isReferredIn(right.place, file)) this.#prove(right);
      else right.possible = true;
    }
  }

  #prove(right: Right): void {
    right.possible = true;
    right.sure = true;
    right.isUnproven = false;
  }

  #release(place: Place, file: string | undefined, nowMs: number): void {
    if (file === undefined) return;
    if (this.#presence.get(file) !== 'no') this.#protectedMs.set(file, nowMs);
    const right = this.#rights.get(`${nameOf(place)}\n${file}`);
    if (right === undefined || this.#isReferredIn(place, file)) return;
    // The claim may be collected from now on, and so may the one that proves nothing.
    right.sure = false;
    right.isUnproven = false;
    for (const claimant of right.claimants.keys()) right.claimants.set(claimant, false);
  }

  #erase(place: Place, nowMs: number): void {
    for (const [key, file] of [...this.#objects]) {
      if (!key.startsWith(`${nameOf(place)}\n`)) continue;
      this.#objects.delete(key);
      this.#release(place, file, nowMs);
      // What was erased is not kept for another grace period.
      this.#protectedMs.delete(file);
    }
    if (place.kind !== 'user') return;
    for (const key of [...this.#rights.keys()]) if (key.startsWith(`${nameOf(place)}\n`)) this.#rights.delete(key);
  }

  #isReferredIn(place: Place, file: string): boolean {
    const prefix = `${nameOf(place)}\n`;
    return [...this.#objects].some(([key, one]) => one === file && key.startsWith(prefix));
  }
}

function nameOf(place: Place): string {
  return place.kind === 'user' ? `user ${place.user}` : place.kind === 'group' ? `group ${place.group}` : 'all';
}

function keyOf(place: Place, object: string): string {
  return `${nameOf(place)}\n${object}`;
}

/** Where objects are: a source, and whose. */
export interface LedgerPlace {
  readonly source: string;
  readonly user: string | null;
}

export type LedgerObjects = Readonly<Record<string, { readonly n: number }>>;

/** What has been acknowledged. Every object has one writer, so there is no doubt about what comes last. */
export class Ledger {
  readonly #places = new Map<string, Map<string, number>>();

  acknowledge(place: LedgerPlace, id: string, n: number): void {
    const objects = this.#of(place);
    objects.set(id, n);
  }

  expected(place: LedgerPlace): LedgerObjects {
    const sorted = [...this.#of(place)].sort(([left], [right]) => (left < right ? -1 : 1));
    return Object.fromEntries(sorted.map(([id, n]) => [id, { n }]));
  }

  /** What is older than it was acknowledged when the look at `objects` began. */
  lostFrom(acknowledged: LedgerObjects, objects: LedgerObjects): readonly string[] {
    return Object.entries(acknowledged)
      .filter(([id, { n }]) => (objects[id]?.n ?? -1) < n)
      .map(([id, { n }]) => `${id} was acknowledged with ${n} and is ${objects[id]?.n ?? 'not there'}`);
  }

  #of({ source, user }: LedgerPlace): Map<string, number> {
    const key = JSON.stringify([source, user]);
    const objects = this.#places.get(key) ?? new Map<string, number>();
    this.#places.set(key, objects);
    return objects;
  }
}

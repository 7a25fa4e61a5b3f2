import type { JsonValue } from '@tidemark/protocol';
import type { Place } from './step.ts';

type Attributes = Readonly<Record<string, JsonValue>>;
type Objects = Map<string, Attributes>;

/** What must be on the server in the end: every change that was reported as kept, once, in its order. */
export class Expected {
  readonly #places = new Map<string, Objects>();

  at({ source, user }: Place): Objects {
    const name = JSON.stringify([source, user]);
    const objects = this.#places.get(name) ?? new Map<string, Attributes>();
    this.#places.set(name, objects);
    return objects;
  }

  merge(place: Place, id: string, attributes: Attributes): void {
    const objects = this.at(place);
    objects.set(id, { ...objects.get(id), ...attributes });
  }

  delete(place: Place, id: string): void {
    this.at(place).delete(id);
  }

  plain(place: Place): Readonly<Record<string, Attributes>> {
    return Object.fromEntries(this.at(place));
  }
}

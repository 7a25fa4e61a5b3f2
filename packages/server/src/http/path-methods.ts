interface Node {
  readonly children: Map<string, Node>;
  readonly methods: Set<string>;
}

const PARAMETER = ':';
const REST = '*';

/** The methods that paths take, for requests that no route matches. A route of its own for each of them would cost time at every start. */
export class PathMethods {
  readonly #root = newNode();

  /** `url` is the pattern of a route, such as `/rc/v1/users/:user_id`. */
  add(url: string, methods: readonly string[]): void {
    let node = this.#root;
    for (const part of url.split('/')) {
      const key = part.startsWith(PARAMETER) ? PARAMETER : part;
      const child = node.children.get(key) ?? newNode();
      node.children.set(key, child);
      node = child;
    }
    for (const method of methods) node.methods.add(method);
  }

  /** Returns the methods of the route that matches the path best, in order; empty if there is none. */
  of(path: string): readonly string[] {
    return [...(find(this.#root, path.split('/'), 0) ?? [])].sort();
  }
}

function newNode(): Node {
  return { children: new Map(), methods: new Set() };
}

function find({ children, methods }: Node, parts: readonly string[], index: number): ReadonlySet<string> | null {
  const part = parts[index];
  if (part === undefined) return methods.size > 0 ? methods : null;
  const name = decoded(part);
  const named = name === PARAMETER || name === REST ? undefined : children.get(name);
  const next = [named, part === '' ? undefined : children.get(PARAMETER)];
  for (const child of next) {
    const found = child === undefined ? null : find(child, parts, index + 1);
    if (found !== null) return found;
  }
  return children.get(REST)?.methods ?? null;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

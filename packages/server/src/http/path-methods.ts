/** A path that routes have, with the methods they take. */
export interface KnownPath {
  /** The pattern of the routes, such as `/rc/v1/users/:user_id`. */
  readonly url: string;
  /** In alphabetical order. */
  readonly methods: readonly string[];
}

interface Node {
  readonly children: Map<string, Node>;
  /** The pattern of the first route that was added; undefined if there is none. */
  url?: string;
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
    node.url ??= url;
    for (const method of methods) node.methods.add(method);
  }

  /** Returns the pattern and the methods of the routes that match the path best; null if there is none. */
  of(path: string): KnownPath | null {
    const node = find(this.#root, path.split('/'), 0);
    return node?.url === undefined ? null : { url: node.url, methods: [...node.methods].sort() };
  }
}

function newNode(): Node {
  return { children: new Map(), methods: new Set() };
}

function find(node: Node, parts: readonly string[], index: number): Node | null {
  const { children, url } = node;
  const part = parts[index];
  if (part === undefined) return url === undefined ? null : node;
  const name = decoded(part);
  const named = name === PARAMETER || name === REST ? undefined : children.get(name);
  const next = [named, part === '' ? undefined : children.get(PARAMETER)];
  for (const child of next) {
    const found = child === undefined ? null : find(child, parts, index + 1);
    if (found !== null) return found;
  }
  return children.get(REST) ?? null;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** An object of the comparison. */
export interface PeerObject {
  readonly id: string;
  readonly item: string;
  readonly price: number;
  readonly note: string;
}

/** What a device received. */
export interface Received {
  /** Bytes of all answers, without compression. */
  readonly bytes: number;
  /** Objects and deletions that the answers hold. */
  readonly entries: number;
  /** What the device presents the next time. */
  readonly position: string;
}

/** One set of objects that devices hold. */
export interface PeerData {
  /** Writes objects, which are new or known. */
  push(objects: readonly PeerObject[]): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  /** Reads what a device gets that has this position; null: it holds nothing. */
  sync(position: string | null): Promise<Received>;
}

/** A server that is compared, in a process of its own. */
export interface Peer {
  readonly name: string;
  /** Its version, and how it was set up. */
  readonly setUp: string;
  /** What a write that was answered survives. */
  readonly durability: string;
  readonly pid: number;
  open(name: string): Promise<PeerData>;
  stop(): Promise<void>;
}

export const BATCH = 1_000;

/** Calls `each` with pieces of the items, one after the other. */
export async function inBatches<T>(
  items: readonly T[],
  each: (batch: readonly T[]) => Promise<void>,
  size = BATCH,
): Promise<void> {
  for (let start = 0; start < items.length; start += size) await each(items.slice(start, start + size));
}

/** Follows pages until an answer says that there are no more. */
export async function followPages(
  start: string | null,
  read: (position: string | null) => Promise<Received & { readonly isLast: boolean }>,
): Promise<Received> {
  let position = start;
  let bytes = 0;
  let entries = 0;
  for (;;) {
    const page = await read(position);
    bytes += page.bytes;
    entries += page.entries;
    position = page.position;
    if (page.isLast) return { bytes, entries, position };
  }
}

/** Makes a request, uncompressed, and refuses every answer but a success. */
export async function request(url: string, init: RequestInit = {}): Promise<{ text: string; headers: Headers }> {
  const headers = { 'accept-encoding': 'identity', ...(init.headers as Record<string, string> | undefined) };
  const response = await fetch(url, { ...init, headers });
  const text = await response.text();
  if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${url}: ${response.status} ${text.slice(0, 300)}`);
  return { text, headers: response.headers };
}

export function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const all = { 'content-type': 'application/json', ...headers };
  return request(url, { method: 'POST', headers: all, body: JSON.stringify(body) });
}

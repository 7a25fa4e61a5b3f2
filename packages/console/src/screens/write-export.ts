import { type JsonValue, parseJson } from '@tidemark/protocol';
import { csvRow } from '@tidemark/protocol/admin/csv-text';

type Attributes = Readonly<Record<string, JsonValue>>;
type Entries = AsyncIterable<readonly [id: string | number, attributes: unknown]>;

/** The text that a page holds before it becomes a blob, which the browser may keep on its disk. */
const CHUNK_UNITS = 1_000_000;
/** Attributes of a CSV: each row has a cell for each of them. */
const CSV_COLUMNS_MAX = 1_000;

/** Collects a long text in blobs. */
class BlobWriter {
  readonly #chunks: Blob[] = [];
  #lines: string[] = [];
  #units = 0;

  write(text: string): void {
    this.#lines.push(text);
    this.#units += text.length;
    if (this.#units >= CHUNK_UNITS) this.#endChunk();
  }

  /** Returns what was written. No chunk ends within the text of one write. */
  chunks(): readonly Blob[] {
    this.#endChunk();
    return this.#chunks;
  }

  #endChunk(): void {
    if (this.#lines.length > 0) this.#chunks.push(new Blob(this.#lines));
    this.#lines = [];
    this.#units = 0;
  }
}

/** Returns objects as JSON, which can be imported again. */
export async function writeJson(objects: Entries): Promise<Blob> {
  const json = new BlobWriter();
  let separator = '{\n';
  for await (const [id, attributes] of objects) {
    json.write(`${separator}${JSON.stringify(String(id))}: ${JSON.stringify(attributes)}`);
    separator = ',\n';
  }
  json.write(separator === '{\n' ? '{}\n' : '\n}\n');
  return new Blob([...json.chunks()], { type: 'application/json' });
}

/** Returns objects as CSV with a column for the id and one for each attribute that any of them has. */
export async function writeCsv(objects: Entries): Promise<Blob> {
  const names = new Set<string>();
  const read = new BlobWriter();
  // All columns are known only at the end, so what was read is put aside instead of being downloaded twice.
  for await (const [id, attributes] of objects) {
    for (const name of Object.keys(attributes as Attributes)) names.add(name);
    if (names.size > CSV_COLUMNS_MAX) {
      throw new Error(
        `The objects have more than ${CSV_COLUMNS_MAX.toLocaleString('en')} different attributes. Export them as JSON.`,
      );
    }
    read.write(`${JSON.stringify([String(id), attributes])}\n`);
  }
  const columns = [...names];
  const csv = new BlobWriter();
  csv.write(csvRow(['id', ...columns]));
  for (const chunk of read.chunks()) {
    for (const line of (await chunk.text()).trimEnd().split('\n')) {
      const [id, attributes] = parseJson(line) as [string, Attributes];
      csv.write(csvRow([id, ...columns.map((name) => (Object.hasOwn(attributes, name) ? attributes[name] : null))]));
    }
  }
  return new Blob([...csv.chunks()], { type: 'text/csv' });
}

import { parseJson, Refusal } from '@tidemark/protocol';

/** The list of files that the build writes beside them. Nothing that is not in it is ever read. */
const LIST = 'files.json';
const PAGE = 'index.html';
const HASHED = 'assets/';

interface ListedFile {
  readonly type: string;
  readonly hash: string;
  readonly hasGzip: boolean;
}

export interface ConsoleFile extends ListedFile {
  /** True: the name contains a hash of the content, which therefore never changes. */
  readonly isHashed: boolean;
  read(isGzip: boolean): Promise<Buffer>;
}

/** The files of the web console. */
export class ConsoleFiles {
  readonly #read: (name: string) => Promise<Buffer>;
  #listed: Promise<ReadonlyMap<string, ListedFile>> | null = null;

  constructor(read: (name: string) => Promise<Buffer>) {
    this.#read = read;
  }

  /** Returns the file of a path. Every path outside of the assets is an address inside the console: its page. */
  async find(path: string): Promise<ConsoleFile | null> {
    this.#listed ??= this.#readList();
    // A list that cannot be read is looked for again at the next request.
    this.#listed.catch(() => {
      this.#listed = null;
    });
    const listed = await this.#listed;
    const name = listed.has(path) || path.startsWith(HASHED) ? path : PAGE;
    const file = listed.get(name);
    if (file === undefined) return null;
    const read = (isGzip: boolean) => this.#read(isGzip ? `${name}.gz` : name);
    return { ...file, isHashed: name.startsWith(HASHED), read };
  }

  async #readList(): Promise<ReadonlyMap<string, ListedFile>> {
    const text = await this.#read(LIST).catch(() => {
      throw new Refusal('not_found', 'the console was not built; npm run setup builds it');
    });
    return new Map(Object.entries(parseJson(text.toString()) as Record<string, ListedFile>));
  }
}

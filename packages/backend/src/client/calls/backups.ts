import type { Backup, BackupCheck, BackupList } from '@tidemark/protocol';
import { path } from '../../transport/path.ts';
import type { CallOptions, Transport } from '../../transport/transport.ts';

const BACKUPS = '/rc/v1/system/backups';
/** A large store takes minutes to copy or to read. */
const LONG_TIMEOUT_MS = 1_800_000;

/** Backups of an embedded store. On Valkey or Redis every call is refused with `backup_not_offered`. */
export class BackupCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  /** The backups that the server holds, newest first. */
  list(options?: CallOptions): Promise<BackupList> {
    return this.#api.get(BACKUPS, options);
  }

  /** Makes a backup while the server goes on. Resolves when it is on the disk. */
  create(options?: CallOptions): Promise<Backup> {
    return this.#api.post(BACKUPS, {}, 'harmful', { timeoutMs: LONG_TIMEOUT_MS, ...options });
  }

  /** Returns the backup as a tar archive, which can be unpacked for `tidemark restore`. */
  download(name: string, options?: CallOptions): Promise<AsyncIterable<Uint8Array>> {
    const outgoing = { method: 'GET', path: path`/rc/v1/system/backups/${name}`, repetition: 'harmless' } as const;
    return this.#api.stream({ ...outgoing, accept: 'application/x-tar' }, options);
  }

  /** Checks a backup for damage. Resolves when everything has been read. */
  verify(name: string, options?: CallOptions): Promise<BackupCheck> {
    const to = path`/rc/v1/system/backups/${name}/verify`;
    return this.#api.post(to, {}, 'harmless', { timeoutMs: LONG_TIMEOUT_MS, ...options });
  }

  delete(name: string, options?: CallOptions): Promise<Backup> {
    return this.#api.delete(path`/rc/v1/system/backups/${name}`, options);
  }

  /** Deletes the oldest backups until `keep` are left. Returns what was deleted. */
  prune(keep: number, options?: CallOptions): Promise<readonly Backup[]> {
    return this.#api.post(`${BACKUPS}/prune`, { keep }, 'harmless', options);
  }
}

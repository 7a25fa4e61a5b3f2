import { CliFailure } from './cli-failure.ts';
import { ownershipOf, runningAs, userName } from './local/ownership.ts';

const DENIED: ReadonlySet<string> = new Set(['EACCES', 'EPERM']);
/** LMDB reports a number or no code at all, with the system's message. */
const DENIED_BY_ENGINE = /^Permission denied|^Operation not permitted/;

/**
 * Explains a permission error: which path, who owns it, and which user this process runs as. Null: it is another error,
 * or one about a port. `folder` is named where the error names no path.
 */
export function permissionFailure(error: unknown, folder?: string): CliFailure | null {
  if (!(error instanceof Error)) return null;
  const { code, syscall, path = folder } = error as NodeJS.ErrnoException;
  const isDenied = typeof code === 'string' ? DENIED.has(code) : DENIED_BY_ENGINE.test(error.message);
  if (!isDenied || syscall === 'listen' || syscall === 'bind' || path === undefined) return null;
  const uid = runningAs();
  const who = uid === null ? 'this process' : `this process, which runs as ${userName(uid)},`;
  return new CliFailure(`permission denied: ${who} may not use ${path}; ${ownershipOf(path)}`, {
    hint: uid === null ? 'change its permissions' : `run as its owner, or run chown -R ${userName(uid)} on it`,
  });
}

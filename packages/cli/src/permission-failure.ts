import { CliFailure } from './cli-failure.ts';
import { ownershipOf, runningAs, userName } from './local/ownership.ts';

const DENIED: ReadonlySet<string> = new Set(['EACCES', 'EPERM']);
/** The storage engine gives a number or nothing as a code, and the words of the system. */
const DENIED_BY_ENGINE = /^Permission denied|^Operation not permitted/;

/**
 * An error of the system that says that this process may not open something, in words: what it is, whose it is, and who
 * this process is. Null: it is another error, or about a port. `folder` is named where the error names no path.
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

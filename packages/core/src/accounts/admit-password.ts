import { PASSWORD_BYTES_MAX, Refusal, utf8Bytes } from '@tidemark/protocol';

/** Checks a new password. The refusal never repeats it. */
export function admitPassword(password: unknown, at: string): string {
  if (typeof password !== 'string') {
    throw new Refusal('invalid_request', 'the password must be a string', [
      { pointer: at, detail: 'must be a string' },
    ]);
  }
  const problem = passwordProblem(password);
  if (problem !== null) {
    throw new Refusal('invalid_value', `the password ${problem}`, [{ pointer: at, detail: problem }]);
  }
  return password;
}

/** Returns why a text cannot be a password, or null. */
export function passwordProblem(password: string): string | null {
  if (password === '') return 'must not be empty';
  // Hashing would turn every lone surrogate into the same character: different passwords would become one.
  if (!password.isWellFormed()) return 'must be well-formed Unicode';
  if (password.length > PASSWORD_BYTES_MAX || utf8Bytes(password) > PASSWORD_BYTES_MAX) {
    return `must not be longer than ${PASSWORD_BYTES_MAX} bytes`;
  }
  return null;
}

/** Hashes passwords so that guessing is slow. The hash text carries its own parameters and salt. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Takes the same time for every wrong password. */
  verify(password: string, hash: string): Promise<boolean>;
  /** Whether the hash was made in a weaker way than `hash` would make it today. */
  isOutdated(hash: string): boolean;
}

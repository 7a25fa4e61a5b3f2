/** Hashes passwords so that guessing is slow. The hash text carries its own parameters and salt. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Takes the same time for every wrong password. */
  verify(password: string, hash: string): Promise<boolean>;
  /** Whether the hash has weaker parameters than `hash` uses today. */
  isOutdated(hash: string): boolean;
}

/** The source of random bytes: cryptographically strong in production, seeded in simulations. */
export interface Random {
  bytes(count: number): Uint8Array;
}

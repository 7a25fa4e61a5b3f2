/** The only dice. Real ones are cryptographically strong; those of a simulation come from its seed. */
export interface Random {
  bytes(count: number): Uint8Array;
}

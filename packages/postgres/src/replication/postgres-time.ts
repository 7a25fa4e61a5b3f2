/** Postgres counts microseconds from the year 2000 on. */
const EPOCH_MS = Date.UTC(2000, 0, 1);

export function toUnixMs(postgresUs: bigint): number {
  return Number(postgresUs / 1000n) + EPOCH_MS;
}

export function toPostgresUs(unixMs: number): bigint {
  return BigInt(Math.trunc(unixMs) - EPOCH_MS) * 1000n;
}

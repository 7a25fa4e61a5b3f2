import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

export interface Secrets {
  readonly adminPassword: string;
  readonly technicianPassword: string;
  /** Tidemark signs its calls with it. */
  readonly backendSecret: string;
  readonly officeToken: string;
}

/** Made at the first start and kept, readable for nobody else. */
export function secretsIn(file: string): Secrets {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Secrets;
  const secrets: Secrets = {
    adminPassword: word(),
    technicianPassword: word(),
    backendSecret: `whsec_${randomBytes(32).toString('base64')}`,
    officeToken: word(),
  };
  writeFileSync(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  return secrets;
}

function word(): string {
  return randomBytes(12).toString('base64url');
}

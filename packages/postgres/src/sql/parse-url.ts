/** What the address of a database says. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string;
  /** `encrypt` does not look at the certificate, as `sslmode=require` of other clients. */
  readonly tls: 'off' | 'encrypt' | 'verify';
  /** The file with the certificates that the server's must be signed by; null: those of the system. */
  readonly rootCertificateFile: string | null;
}

const TLS_BY_SSLMODE: Readonly<Record<string, DatabaseAddress['tls']>> = {
  disable: 'off',
  require: 'encrypt',
  'verify-ca': 'verify',
  'verify-full': 'verify',
};

const FORM = 'postgres://user:password@host:5432/database?sslmode=verify-full';

/** Parameters that other clients know and that change nothing here. */
const IGNORED = ['channel_binding', 'application_name', 'connect_timeout', 'gssencmode', 'target_session_attrs'];

/**
 * Reads the address of a database. Without `sslmode` the connection is encrypted and the certificate verified, except on
 * this machine. Errors never contain the address, because it contains the password.
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const url = parsed(text);
  const { searchParams } = url;
  for (const name of searchParams.keys()) {
    if (name !== 'sslmode' && name !== 'sslrootcert' && !IGNORED.includes(name)) {
      throw new Error(
        `the address of the database has an unknown parameter "${name}": it may have sslmode and sslrootcert`,
      );
    }
  }
  const rootCertificateFile = searchParams.get('sslrootcert');
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? 5432 : Number(url.port),
    database: decodeURIComponent(url.pathname.slice(1)),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    tls: tlsOf(searchParams.get('sslmode'), url.hostname, rootCertificateFile !== null),
    rootCertificateFile: rootCertificateFile === 'system' ? null : rootCertificateFile,
  };
}

function parsed(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol)) {
    throw new Error(`the address of the database has another form than ${FORM}`);
  }
  const missing = [
    ...(url.hostname === '' ? ['host'] : []),
    ...(url.username === '' ? ['user'] : []),
    ...(url.pathname.length < 2 ? ['database'] : []),
  ];
  if (missing.length > 0) throw new Error(`the address of the database lacks ${missing.join(' and ')}: ${FORM}`);
  return url;
}

function tlsOf(sslmode: string | null, host: string, hasRootCertificate: boolean): DatabaseAddress['tls'] {
  if (sslmode === null) return isThisMachine(host) && !hasRootCertificate ? 'off' : 'verify';
  const tls = TLS_BY_SSLMODE[sslmode];
  if (tls === undefined) {
    const known = Object.keys(TLS_BY_SSLMODE).join(', ');
    throw new Error(`sslmode=${sslmode} in the address of the database is not supported: use one of ${known}`);
  }
  return tls;
}

function isThisMachine(host: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(host);
}

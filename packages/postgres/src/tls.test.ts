import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PostgresServer, startPostgres, temporaryFolder } from '@tidemark/testing/kit';
import { type Link, openLink, useServers } from '@tidemark/testing/postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseDatabaseUrl } from './sql/parse-url.ts';

const servers = useServers();

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let postgres: PostgresServer;

/** Runs openssl in the folder. Keys of curves are made at once. */
function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { cwd: folder.path, stdio: 'pipe' });
}

const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];

function makeAuthority(name: string): void {
  openssl('req', '-x509', ...CURVE, '-keyout', `${name}.key`, '-out', `${name}.crt`, '-subj', `/CN=${name}`);
}

beforeAll(async () => {
  folder = await temporaryFolder();
  makeAuthority('company');
  makeAuthority('stranger');
  openssl('req', ...CURVE.slice(0, -2), '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost');
  writeFileSync(join(folder.path, 'names'), 'subjectAltName=DNS:localhost');
  const signer = ['-CA', 'company.crt', '-CAkey', 'company.key', '-CAcreateserial'];
  openssl('x509', '-req', '-in', 'server.csr', ...signer, '-days', '2', '-extfile', 'names', '-out', 'server.crt');
  const read = (name: string) => readFileSync(join(folder.path, name), 'utf8');
  postgres = await startPostgres({
    settings: { ssl: 'on', ssl_cert_file: 'server.crt', ssl_key_file: 'server.key' },
    files: { 'server.crt': read('server.crt'), 'server.key': read('server.key') },
  });
});

afterAll(async () => {
  await postgres.remove();
  await folder.remove();
});

function openWares(): Promise<Link> {
  return openLink(
    { ...servers(), postgres },
    ['CREATE TABLE wares (id int PRIMARY KEY, name text)', `INSERT INTO wares VALUES (1, 'a')`],
    (own) => ({ tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } } }),
  );
}

function addressOf(link: Link, host: string, parameters: string) {
  return parseDatabaseUrl(`${link.database.url.replace('127.0.0.1', host)}?${parameters}`);
}

describe('TLS', () => {
  it('[PG-285] statements and stream are encrypted, and the certificate is verified with the file of the address', async () => {
    const link = await openWares();
    link.start({
      address: addressOf(link, 'localhost', `sslmode=verify-full&sslrootcert=${join(folder.path, 'company.crt')}`),
    });
    await link.holds({ Ware: { shared: { 1: { name: 'a' } } } });
    await link.sql(`UPDATE wares SET name = 'b'`);
    await link.holds({ Ware: { shared: { 1: { name: 'b' } } } });
    const encrypted = await postgres.sql`
      SELECT bool_and(s.ssl) AS all, count(*)::int AS connections
      FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid) WHERE a.datname = ${link.database.name}
        AND (a.application_name = ${`tidemark ${link.name}`} OR a.backend_type = 'walsender')`;
    expect(encrypted[0]?.all).toBe(true);
    expect(Number(encrypted[0]?.connections)).toBeGreaterThanOrEqual(2);
  });

  it.each([
    ['another name of the server', '127.0.0.1', 'company.crt', /does not match certificate/],
    ['another authority', 'localhost', 'stranger.crt', /unable to verify|self.signed|issuer/],
  ])('[PG-285] %s ends the connection before the password is sent', async (_, host, authority, reason) => {
    const link = await openWares();
    link.start({ address: addressOf(link, host, `sslmode=verify-full&sslrootcert=${join(folder.path, authority)}`) });
    const error = String(await link.ended());
    expect(error).toMatch(reason);
    expect(error).not.toContain(parseDatabaseUrl(postgres.url).password);
  });

  it('[PG-285] a certificate that the system does not know is refused without a file, and taken unverified with require', async () => {
    const link = await openWares();
    link.start({ address: addressOf(link, 'localhost', 'sslmode=verify-full') });
    expect(String(await link.ended())).toMatch(/unable to verify|self.signed|issuer/);
    link.start({ address: addressOf(link, '127.0.0.1', 'sslmode=require') });
    await link.holds({ Ware: { shared: { 1: { name: 'a' } } } });
  });
});

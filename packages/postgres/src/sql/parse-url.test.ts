import { describe, expect, it } from 'vitest';
import { parseDatabaseUrl } from './parse-url.ts';

describe('the address of a database', () => {
  it('[PG-44] has host, port, database, user and password, with escapes', () => {
    expect(
      parseDatabaseUrl('postgres://an%40na:p%2Fw@db.example:6432/my%20db?sslmode=verify-full&sslrootcert=/ca.pem'),
    ).toEqual({
      host: 'db.example',
      port: 6432,
      database: 'my db',
      user: 'an@na',
      password: 'p/w',
      tls: 'verify',
      rootCertificateFile: '/ca.pem',
    });
    expect(parseDatabaseUrl('postgresql://u@[::1]/d')).toMatchObject({ host: '::1', port: 5432, password: '' });
  });

  it.each([
    ['postgres://u:p@db.example/d', 'verify'],
    ['postgres://u:p@localhost/d', 'off'],
    ['postgres://u:p@127.0.0.1/d', 'off'],
    ['postgres://u:p@localhost/d?sslrootcert=/ca.pem', 'verify'],
    ['postgres://u:p@db.example/d?sslmode=disable', 'off'],
    ['postgres://u:p@db.example/d?sslmode=require&channel_binding=require', 'encrypt'],
    ['postgres://u:p@db.example/d?sslmode=verify-ca', 'verify'],
  ])('[PG-44] %s is connected with tls %s', (url, tls) => {
    expect(parseDatabaseUrl(url).tls).toBe(tls);
  });

  it.each([
    [
      'nonsense hunter2',
      'the address of the database has another form than postgres://user:password@host:5432/database?sslmode=verify-full',
    ],
    [
      'mysql://u:hunter2@h/d',
      'the address of the database has another form than postgres://user:password@host:5432/database?sslmode=verify-full',
    ],
    [
      'postgres://h',
      'the address of the database lacks user and database: postgres://user:password@host:5432/database?sslmode=verify-full',
    ],
    [
      'postgres://u:hunter2@h/d?sslmode=prefer',
      'sslmode=prefer in the address of the database is not supported: use one of disable, require, verify-ca, verify-full',
    ],
    [
      'postgres://u:hunter2@h/d?pool=5',
      'the address of the database has an unknown parameter "pool": it may have sslmode and sslrootcert',
    ],
  ])('[PG-44] the address %j is refused without its password: %s', (url, message) => {
    expect(() => parseDatabaseUrl(url)).toThrow(new Error(message));
    expect(message).not.toContain('hunter2');
  });
});

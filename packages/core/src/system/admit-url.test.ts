import { Refusal, URL_UNITS_MAX } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { type AddressClass, addressClass } from './address-class.ts';
import { admitUrl, type UrlRules } from './admit-url.ts';

function verdict(url: unknown, rules: UrlRules = { ownOrigins: [] }): string {
  try {
    return admitUrl(url, rules) === url ? 'ok' : 'changed';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

describe('admitUrl', () => {
  it.each([
    'http://backend.example.com',
    'https://backend.example.com/app/v2/',
    'HTTPS://Backend.Example.com:8443/a%20b',
    'http://localhost:3000',
    'http://127.0.0.1:9292/app',
    'http://[::1]:9292/',
    'http://192.168.1.7/',
    'http://10.0.0.1/',
    'http://[fd12:3456::1]/',
    'http://bücher.example/',
    'http://metadata.example.com/',
    'http://a.b/x@y',
  ])('[SYSTEM-6] the URL %s is accepted unchanged', (url) => {
    expect(verdict(url)).toBe('ok');
  });

  it.each([
    'file:///etc/passwd',
    'gopher://h/',
    'javascript:alert(1)',
    'data:text/plain,x',
    'ftp://h/',
    'ws://h/',
    '/relative',
    'backend',
    '//h/',
    '',
    ' http://h/',
    'http://h/ ',
    'http:h',
    'http:/h',
    'http:///h',
    'http://',
    'http:///u:p@h/',
    'http://\\h/',
    'http://h\\@evil/',
    'http://h\t/',
    'http://h\n/',
    'http://h/\u0000',
    'http://a b/',
    'http://h:99999/',
    'http://%zz/',
    'http://[::1/',
    'http://h/\ud800',
    'http://h/?a=1',
    'http://h/#x',
    'http://h?',
    'http://h#',
  ])('[SYSTEM-6] the URL %j is refused', (url) => {
    expect(verdict(url)).toBe('url_not_allowed');
  });

  it.each(['http://u:p@h/', 'http://u@h/', 'http://:p@h/', 'http://@h/', 'http://u:p@169.254.169.254/'])(
    '[SYSTEM-7] the URL %s is refused because of its credentials, and the error does not repeat them',
    (url) => {
      expect(verdict(url)).toBe('url_not_allowed');
      expect(() => admitUrl(url, { ownOrigins: [] })).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('u:p') }),
      );
    },
  );

  it.each([
    '169.254.169.254',
    '169.254.170.2',
    '2852039166',
    '0xa9fea9fe',
    '0xA9.0xFE.0xA9.0xFE',
    '0251.0376.0251.0376',
    '169.254.43518',
    '169.16689662',
    '169.254.169.254.',
    '①⑥⑨.254.169.254',
    '%31%36%39.254.169.254',
    '[::ffff:169.254.169.254]',
    '[::ffff:a9fe:a9fe]',
    '[0:0:0:0:0:ffff:a9fe:a9fe]',
    '[::169.254.169.254]',
    '[64:ff9b::169.254.169.254]',
    '[64:ff9b:1::a9fe:a9fe]',
    '[2002:a9fe:a9fe::1]',
    '[::ffff:0:a9fe:a9fe]',
    '[2001:0:0:0:0:0:5601:5601]',
    '[fe80::1]',
    '[febf::1]',
    '[FE80:0000::0001]',
    '[fd00:ec2::254]',
    '[fd20:ce::254]',
    '0',
    '0.0.0.0',
    '0.1.2.3',
    '0x0',
    '[::]',
    '[::2]',
    '[ff02::1]',
    '224.0.0.1',
    '255.255.255.255',
    '240.0.0.1',
    '100.100.100.200',
    '192.0.0.192',
    '168.63.129.16',
    'metadata.google.internal',
    'METADATA.google.internal.',
    'metadata',
    'instance-data',
    'metadata.goog',
  ])('[SYSTEM-8] the host %s is refused on every port', (host) => {
    expect(verdict(`http://${host}/`)).toBe('url_not_allowed');
    expect(verdict(`https://${host}:8443/latest`)).toBe('url_not_allowed');
  });

  it.each([
    'localhost',
    'LOCALHOST',
    'localhost.',
    'x.localhost',
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0177.0.0.1',
    '127.9.9.9',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '100.64.0.1',
    '[fc00::1]',
    '[fdff::1]',
    '[fec0::1]',
    '[::ffff:10.0.0.1]',
    '198.18.0.1',
  ])('[SYSTEM-9] the private host %s is accepted unless private hosts are disallowed', (host) => {
    expect(verdict(`http://${host}/`)).toBe('ok');
    expect(verdict(`http://${host}/`, { ownOrigins: [], denyPrivate: true })).toBe('url_not_allowed');
  });

  it.each([
    '8.8.8.8',
    '172.15.0.1',
    '172.32.0.1',
    '100.63.0.1',
    '100.128.0.1',
    '[2606:4700::1]',
    '1.2.3.4',
    'h.example',
  ])('[SYSTEM-9] the public host %s is always accepted', (host) => {
    expect(verdict(`http://${host}/`, { ownOrigins: [], denyPrivate: true })).toBe('ok');
  });

  it.each([
    ['https://sync.example.com', 'https://sync.example.com/app', 'url_not_allowed'],
    ['https://sync.example.com', 'https://SYNC.example.com.:443/', 'url_not_allowed'],
    ['https://sync.example.com', 'http://sync.example.com:443/', 'url_not_allowed'],
    ['https://sync.example.com', 'https://sync.example.com:444/', 'ok'],
    ['https://sync.example.com', 'https://other.example.com/', 'ok'],
    ['http://127.0.0.1:8080', 'http://localhost:8080/', 'url_not_allowed'],
    ['http://localhost:8080', 'http://[::1]:8080/', 'url_not_allowed'],
    ['http://0.0.0.0:8080', 'http://127.0.0.2:8080/', 'url_not_allowed'],
    ['http://[::]:8080', 'http://[::ffff:7f00:1]:8080/', 'url_not_allowed'],
    ['http://0.0.0.0:8080', 'http://127.0.0.1:8081/', 'ok'],
    ['http://localhost', 'http://localhost:80/', 'url_not_allowed'],
    ['http://192.168.1.5:8080', 'http://127.0.0.1:8080/', 'ok'],
  ])('[SYSTEM-10] a server at %s answers to the backend URL %s with %s', (own, url, answer) => {
    expect(verdict(url, { ownOrigins: ['http://elsewhere.example', own] })).toBe(answer);
  });

  it('[SYSTEM-6] a URL that is too long or not a string is refused', () => {
    const url = 'http://h/'.padEnd(URL_UNITS_MAX, 'x');
    expect(verdict(url)).toBe('ok');
    expect(verdict(`${url}x`)).toBe('url_not_allowed');
    for (const none of [undefined, 7, {}, ['http://h/']]) expect(verdict(none)).toBe('invalid_request');
  });
});

describe('addressClass', () => {
  it.each<readonly [string, AddressClass | null]>([
    ['169.254.169.254', 'forbidden'],
    ['fe80::1%eth0', 'forbidden'],
    ['::ffff:169.254.169.254', 'forbidden'],
    ['::', 'forbidden'],
    ['::1', 'loopback'],
    ['[::1]', 'loopback'],
    ['127.0.0.53', 'loopback'],
    ['10.0.0.1', 'private'],
    ['fd00::1', 'private'],
    ['1.1.1.1', 'public'],
    ['2606:4700:4700::1111', 'public'],
    ['2001:db8:1:2:3:4:5:6', 'public'],
    ['example.com', null],
    ['a.b.c.d', null],
    ['1:2:3', null],
    ['', null],
  ])('[SYSTEM-8] the class of the resolved address %s is %s', (address, expected) => {
    expect(addressClass(address)).toBe(expected);
  });
});

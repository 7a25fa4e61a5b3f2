import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeUser, openDevice } from '@tidemark/testing';
import { type Outcome, runInProcess, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cutPartition } from './commands/files.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server.close());

function tidemark(...args: readonly string[]): Promise<Outcome> {
  const env = { HOME: server.folder, TIDEMARK_URL: server.url, TIDEMARK_TOKEN: server.token };
  return runInProcess(args, { env, folder: server.folder });
}

const BOW = Buffer.from('the bow, from the left');
const SHA256 = createHash('sha256').update(BOW).digest('hex');

it('[FILES-62] files are stored, listed, downloaded and verified on the command line', async () => {
  await writeFile(join(server.folder, 'Bow.JPG'), BOW);
  const put = await tidemark('files', 'put', 'Bow.JPG');
  const reference = { sha256: SHA256, size: BOW.length, type: 'image/jpeg', name: 'Bow.JPG' };
  expect([put.code, JSON.parse(put.out)]).toEqual([0, { $file: reference }]);
  const got = await tidemark('files', 'get', SHA256, '--output', 'again.jpg');
  expect([got.code, got.out.trim()]).toEqual([0, join(server.folder, 'again.jpg')]);
  expect(await readFile(join(server.folder, 'again.jpg'))).toEqual(BOW);
  const listed = await tidemark('files', 'list', '--json');
  expect(JSON.parse(listed.out)).toMatchObject([{ sha256: SHA256, is_stored: true }]);
  expect((await tidemark('files', 'where', SHA256)).code).toBe(0);
  expect((await tidemark('files', 'verify')).err).toBe('1 file is intact.\n');
  expect(await tidemark('files', 'list', '--missing')).toMatchObject({ out: '', err: 'No file is missing.\n' });
  expect(await tidemark('files', 'list', '--missing', '--json')).toMatchObject({ out: '[]\n', err: '' });
  expect(JSON.parse((await tidemark('files', 'verify', '--json')).out)).toEqual({ files: 1, wrong: [] });
});

it('[FILES-62] a file that cannot be read, one that is not stored and one that is damaged fail', async () => {
  expect((await tidemark('files', 'put', 'nothing.jpg')).err).toContain('nothing.jpg cannot be read (ENOENT)');
  expect((await tidemark('files', 'get', 'ab'.repeat(32), '--output', 'none')).err).toContain('file_not_found');
  await writeFile(join(server.folder, 'rots.txt'), 'rots');
  const { out } = await tidemark('files', 'put', 'rots.txt');
  const { sha256 } = (JSON.parse(out) as { $file: { sha256: string } }).$file;
  const stored = join(server.config.dataFolder, 'files', 'files', sha256.slice(0, 2), sha256.slice(2, 4), sha256);
  await writeFile(stored, 'rats');
  const got = await tidemark('files', 'get', sha256, '--output', 'rats.txt');
  expect(got.err).toContain('are damaged; nothing was written');
  await expect(readFile(join(server.folder, 'rats.txt'))).rejects.toThrow('ENOENT');
  const check = await tidemark('files', 'verify', sha256);
  expect(check.code).not.toBe(0);
  expect(check.err).toBe('tidemark: 1 of 1 file is damaged or gone\n');
  expect(check.out).toContain('damaged');
  expect((await tidemark('files', 'get', sha256, '--output', 'rats.txt')).err).toContain('file_not_found');
});

it('[FILES-60] a list of missing files says since when, and which device has them', async () => {
  expect((await tidemark('sources', 'declare', 'Visit')).code).toBe(0);
  await makeUser(server, 'ada');
  const device = await openDevice(server, 'ada');
  const photo = { $file: { sha256: createHash('sha256').update('roof').digest('hex'), size: 4, type: 'image/jpeg' } };
  const changes = [{ op_id: '1', source: 'Visit', op: 'create', id: '1', attributes: { photo } }];
  await device.api.post('/sync/v1/push', { client_id: device.id, changes });
  const [header = '', row = ''] = (await tidemark('files', 'list', '--missing')).out.split('\n');
  expect(header.split(/ {2,}/)).toEqual(['SHA256', 'SIZE', 'TYPE', 'NAME', 'MISSING_SINCE', 'DEVICES', 'REFERENCES']);
  expect(row).toMatch(new RegExp(`^${photo.$file.sha256} +4 +image/jpeg +- +20\\S+Z +ada on ${device.id} +1$`));
  const json = await tidemark('files', 'list', '--missing', '--json');
  expect(JSON.parse(json.out)).toMatchObject([{ devices: [{ user_id: 'ada', client_id: device.id }] }]);
});

it('[FILES-36] a list of the objects that refer to a file says when it does not have all of a partition', () => {
  const uses = (count: number, group: string | null) =>
    Array.from({ length: count }, (_, index) => ({ source: 'Job', user: null, group, object_id: `${index}` }));
  expect(cutPartition([...uses(999, 'north'), ...uses(999, null)])).toBe(null);
  expect(cutPartition(uses(1_000, 'north'))).toBe('Job of the group north');
  expect(cutPartition([...uses(5, 'north'), ...uses(1_000, null)])).toBe('Job');
});

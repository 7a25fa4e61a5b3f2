import type { ConformanceCase } from '../conformance-case.ts';
import { ANY_TEXT, keep, listWith, Matcher, MOMENT, same, wholeNumber } from '../matcher.ts';
import { del, each, file, get, json, post, refused, withoutToken } from '../requests.ts';

const BACKUPS = '/rc/v1/system/backups';
const NAME = new Matcher('the name of a backup', (value) => /^[\w.-]+$/.test(String(value)));
const ANYTHING = new Matcher('anything', () => true);

/** Null when the files are in a bucket. */
const FILES = { files: ANYTHING, files_wrong: ANYTHING };

/** Backups are made only where the server is ours: they take space on its disk. */
export const backupCases: readonly ConformanceCase[] = [
  {
    rule: 'BACKUP-1',
    title: 'a backup is made, listed, downloaded, verified and deleted',
    needs: ['backups'],
    steps: () => {
      const view = { name: same('backup'), made_at: MOMENT, bytes: wholeNumber(1), ...FILES };
      return [
        [post(BACKUPS, {}), json({ ...view, name: keep('backup', NAME) })],
        [get(BACKUPS), json({ folder: ANY_TEXT, free_bytes: ANYTHING, backups: listWith(view), schedule: null })],
        [get(`${BACKUPS}/{backup}`), file()],
        [
          post(`${BACKUPS}/{backup}/verify`, {}),
          json({ name: same('backup'), is_undamaged: true, findings_count: 0, findings: [] }),
        ],
        [post(`${BACKUPS}/prune`, { keep: 100 }), json([])],
        [del(`${BACKUPS}/{backup}`), json(view)],
        [get(`${BACKUPS}/{backup}`), refused('backup_not_found')],
      ];
    },
  },
  {
    rule: 'BACKUP-2',
    title: 'a name that is no backup, and a request of the wrong form, are refused',
    needs: ['backups'],
    steps: () => [
      ...each(
        refused('backup_not_found'),
        get(`${BACKUPS}/nothing`),
        get(`${BACKUPS}/%2e%2e%2f%2e%2e`),
        get(`${BACKUPS}/.hidden`),
        post(`${BACKUPS}/nothing/verify`, {}),
        del(`${BACKUPS}/nothing`),
      ),
      ...each(
        refused('invalid_value', '/keep'),
        post(`${BACKUPS}/prune`, { keep: 0 }),
        post(`${BACKUPS}/prune`, { keep: 'x' }),
      ),
      ...each(refused('invalid_request'), post(BACKUPS, { folder: '/etc' }), post(`${BACKUPS}/prune`, {})),
      ...each(refused('token_missing'), withoutToken(get(BACKUPS)), withoutToken(get(`${BACKUPS}/x`))),
    ],
  },
];

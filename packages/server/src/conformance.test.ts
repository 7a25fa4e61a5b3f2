import {
  AnswerChecker,
  type ApiDocument,
  conformanceCases,
  endpointsOf,
  IS_LONG,
  type Library,
  type Outgoing,
  openLibrary,
  reasonToSkip,
  runConformanceCase,
  Sender,
  type ServerUnderTest,
  startValkey,
  startValkeyCluster,
} from '@tidemark/testing';
import { ADMIN_PASSWORD, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from './open-engines.ts';

/** The rules that the cases test; `npm run rules` reads them here. */
const RULES = [
  '[ACTIVITY-1] what happens is streamed to whoever may read',
  '[ACTIVITY-20] history of the activity',
  '[BACKUP-1] backups',
  '[PG-206] reports of connectors',
  '[BACKUP-2] backups that are refused',
  '[REST-1] login',
  '[REST-2] licence',
  '[REST-3] appserver',
  '[REST-4] stats',
  '[REST-5] server documents',
  '[REST-6] appending',
  '[REST-7] text or JSON',
  '[REST-8] users',
  '[REST-9] devices of users',
  '[REST-10] documents of users and sources',
  '[REST-11] read state',
  '[REST-12] sources',
  '[SCHEMA-9] schemas of sources',
  '[SCHEMA-10] schemas that break apps',
  '[SCHEMA-20] schemas proposed from objects',
  '[SCHEMA-14] objects that do not fit a schema',
  '[REST-13] devices and their documents',
  '[REST-14] push_objects and push_deletes',
  '[PG-61] push_objects with deletes',
  '[PG-62] push_objects with whole objects',
  '[PG-347] push_partitions',
  '[REST-15] fast_insert, fast_update and fast_delete',
  '[REST-16] what a push may be',
  '[REST-17] tokens',
  '[REST-18] audit',
  '[AUDIT-21] search of the audit trail',
  '[REST-19] names in paths',
  '[REST-20] who may call',
  '[REST-21] everything refused',
  '[REST-22] reset',
  '[REST-23] service routes',
  '[REST-25] pings',
  '[REST-35] results of pings',
  '[CONSOLE-1] sessions of the console',
  '[OIDC-31] sign-in of administrators with an identity provider',
  '[SYNC-1] logins of devices',
  '[INVITE-1] invites',
  '[SYNC-2] logins that are refused',
  '[SYNC-3] tokens of devices',
  '[SYNC-4] a device speaks for itself',
  '[SYNC-5] what devices say of themselves',
  '[SYNC-6] what can be synchronised',
  '[SYNC-7] pulling',
  '[SYNC-8] what cannot be pulled',
  '[SYNC-9] tokens nobody was given',
  '[SYNC-10] starting over',
  '[SYNC-11] uploading',
  '[SYNC-12] uploads that are rejected',
  '[SYNC-14] searching',
  '[SYNC-16] acknowledging',
  '[WIPE-4] a device that is to be wiped',
  '[DEVICE-20] listing devices',
  '[DEVICE-29] names of devices',
  '[DEVICE-23] what devices say at their login',
  '[DEVICE-24] labels of devices',
  '[SESSION-15] ending the sessions of a device',
  '[SESSION-17] listing tokens by kind',
  '[USER-40] listing users with details',
  '[FILES-50] files of devices',
  '[FILES-58] files of backends',
  '[EVENT-1] streams of events',
  '[SNAP-1] snapshots',
  '[SNAP-5] snapshots that are refused',
  '[REST-36] jobs',
  '[LIST-1] filtered and sorted lists',
  '[LIST-4] filters and orders that are refused',
  '[GROUP-2] groups of a push',
  '[GROUP-3] groups of a device',
  '[GROUP-9] groups that are refused',
  '[GROUP-10] members of groups',
  '[GROUP-13] documents of groups',
  '[GROUP-16] moves between groups',
];

/** Routes that need an identity provider or a backend, which this server does not have. */
const NEED_ANOTHER_SERVER = [
  'POST /rc/v1/connectors/{connector}/check',
  'GET /files/{sha256}',
  'POST /rc/v1/session/provider',
  'POST /sync/v1/search',
];
const IS_BACKUP = / \/rc\/v1\/system\/backups/;

const BACKUP_ROUTES = [
  ['GET', ''],
  ['POST', ''],
  ['POST', '/prune'],
  ['GET', '/x'],
  ['POST', '/x/verify'],
  ['DELETE', '/x'],
] as const;

/** The store contract runs on Valkey every day. The calls above the store do not know of it; `npm run test:long` makes them there. */
const ENGINES = ['embedded', ...(IS_LONG ? (['valkey', 'valkey-cluster'] as const) : [])] as const;

// Durability is tested elsewhere.
function startServers(engine: 'valkey' | 'valkey-cluster') {
  const settings = { appendonly: 'no' };
  return engine === 'valkey' ? startValkey({ settings }) : startValkeyCluster(settings);
}

/** Returns the path without the query. */
function pathOf({ path }: Outgoing): string {
  return path.split('?', 1)[0] ?? '';
}

describe.each(ENGINES)('on %s', (engine) => {
  let servers: { readonly address: string; remove(): Promise<void> } | null;
  let running: TestServer;
  let library: Library;
  let sender: Sender;
  let server: ServerUnderTest;
  let checker: AnswerChecker;
  let document: ApiDocument;
  const seen = new Set<string>();
  const flaws: string[] = [];

  beforeAll(async () => {
    servers = engine === 'embedded' ? null : await startServers(engine);
    running = await startTestServer(servers === null ? {} : { store: servers.address });
    library = await openLibrary(await openStore(running.config));
    sender = new Sender(running.url);
    document = (await (await fetch(`${running.url}/openapi.json`)).json()) as ApiDocument;
    checker = new AnswerChecker(document);
    server = {
      send: (outgoing) => sender.send(outgoing),
      token: running.token,
      login: running.adminLogin,
      password: ADMIN_PASSWORD,
      word: 'c',
      isOurs: true,
      hasBackups: engine === 'embedded',
      registerDevice: async (user, attributes) => void (await library.tidemark.clients.register(user, attributes)),
      leaveJob: (queue, state) => library.leaveJob(queue, state),
      observe: (outgoing, answer) => {
        seen.add(`${outgoing.method} ${pathOf(outgoing)} ${answer.status}`);
        for (const flaw of checker.check(outgoing, answer)) flaws.push(`${outgoing.method} ${outgoing.path}: ${flaw}`);
      },
    };
  });

  afterAll(async () => {
    sender.close();
    await library.close();
    await running.close();
    await servers?.remove();
  });

  // Backups are made of the embedded store only.
  const rules = RULES.filter((title) => engine === 'embedded' || !title.startsWith('[BACKUP-'));

  describe.each(rules)('%s', (title) => {
    const rule = title.slice(1, title.indexOf(']'));
    for (const one of conformanceCases.filter((candidate) => candidate.rule === rule)) {
      it(one.title, async () => {
        expect(reasonToSkip(one, server)).toBeNull();
        await runConformanceCase(one, server);
      });
    }
  });

  describe('taken together', () => {
    it('every case belongs to a rule in this list', () => {
      const named = RULES.map((title) => title.slice(1, title.indexOf(']')));
      expect([...new Set(conformanceCases.map(({ rule }) => rule))].sort()).toEqual([...named].sort());
    });

    it('[REST-24] every route of the description was called with success', () => {
      const missed = endpointsOf(document).filter(({ method, template }) => {
        const pattern = new RegExp(`^${method} ${template.replaceAll(/\{\w+\}/g, '[^/]+')} 20[014]$`);
        return ![...seen].some((line) => pattern.test(line));
      });
      const names = missed.map(({ method, template }) => `${method} ${template}`);
      const isOffered = (name: string) => engine === 'embedded' || !IS_BACKUP.test(name);
      expect(names.filter(isOffered)).toEqual(NEED_ANOTHER_SERVER);
    });

    if (engine !== 'embedded') {
      it('[BACKUP-3] on Valkey every route of backups says what to use instead', async () => {
        for (const [method, path] of BACKUP_ROUTES) {
          const headers = { 'x-sync-api-token': running.token, 'content-type': 'application/json' };
          const body = method === 'POST' ? (path.endsWith('prune') ? '{"keep":1}' : '{}') : null;
          const answer = await sender.send({ method, path: `/rc/v1/system/backups${path}`, headers, body });
          expect([method, path, answer.status, JSON.parse(answer.text).code]).toEqual([
            method,
            path,
            409,
            'backup_not_offered',
          ]);
          expect(checker.check({ method, path: `/rc/v1/system/backups${path}`, headers, body }, answer)).toEqual([]);
        }
      });
    }

    it('[REST-26] every answer matched the description', () => {
      expect(flaws).toEqual([]);
    });

    it('[REST-33] the data is consistent after all cases', async () => {
      expect(await library.verify()).toEqual([]);
    });
  });
});

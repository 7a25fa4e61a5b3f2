import { startPgBouncer } from '@tidemark/testing/kit';
import { openLink, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkDatabase } from './check/check-database.ts';
import { parseDatabaseUrl } from './sql/parse-url.ts';

const servers = useServers();

describe('PgBouncer', () => {
  it.each([
    ['session', ''],
    ['transaction', ''],
    ['transaction', 'options'],
  ])(
    '[PG-286] in between, with %s pooling, and "%s" ignored, is found by the check, and ends the connector with a reason',
    async (mode, ignored) => {
      const link = await openLink(servers(), ['CREATE TABLE wares (id int PRIMARY KEY)'], (own) => ({
        tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } },
      }));
      const pooler = await startPgBouncer(servers().postgres, { pool_mode: mode, ignore_startup_parameters: ignored });
      onTestFinished(() => pooler.stop());
      const address = { ...parseDatabaseUrl(link.database.url), port: pooler.port };
      const findings = await checkDatabase(address, link.mapping, 'mapping.jsonc');
      expect(findings[0]).toMatchObject({ code: 'pooler', level: 'error' });
      link.start({ address });
      expect(String(await link.ended())).toContain('unsupported startup parameter');
    },
  );
});

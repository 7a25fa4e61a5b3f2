import { fileEngineContract, S3_KEYS, type S3Server, startS3Server } from '@tidemark/testing';
import { afterAll, beforeAll } from 'vitest';
import type { FileEngine } from '../file-engine.ts';
import type { S3Options } from './s3-bucket.ts';
import { openS3Engine } from './s3-engine.ts';

let server: S3Server;
let engines = 0;
const prefixes = new Map<FileEngine, string>();

beforeAll(async () => {
  server = await startS3Server();
});

afterAll(() => server.stop());

async function openAt(prefix: string): Promise<FileEngine> {
  const options: S3Options = { ...S3_KEYS, endpoint: server.url, bucket: server.bucket, prefix };
  const engine = await openS3Engine(options);
  prefixes.set(engine, prefix);
  return engine;
}

fileEngineContract('the S3 engine', {
  open: () => openAt(`test-${++engines}/`),
  openAgain: (engine) => openAt(prefixes.get(engine) ?? ''),
});

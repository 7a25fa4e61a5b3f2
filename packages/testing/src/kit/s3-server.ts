/// <reference path="./s3rver.d.ts" />
import S3rver from 's3rver';
import { temporaryFolder } from './temporary-folder.ts';

/** An S3-compatible server for tests. It knows the protocol, but accepts any signature. */
export interface S3Server {
  readonly url: string;
  readonly bucket: string;
  stop(): Promise<void>;
}

export const S3_KEYS = { accessKey: 'S3RVER', secretKey: 'S3RVER', region: 'us-east-1' } as const;

export async function startS3Server(bucket = 'tidemark'): Promise<S3Server> {
  const folder = await temporaryFolder();
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory: folder.path,
    configureBuckets: [{ name: bucket }],
  });
  const { port } = await server.run();
  return {
    url: `http://127.0.0.1:${port}`,
    bucket,
    stop: async () => {
      await server.close();
      await folder.remove();
    },
  };
}

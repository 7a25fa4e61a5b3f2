// The server of Durable Streams with files in the folder given.
import { DurableStreamTestServer } from '@durable-streams/server';

const [, , folder] = process.argv;
const server = new DurableStreamTestServer({ host: '127.0.0.1', port: 0, dataDir: folder });
const url = await server.start();
console.log(`ready ${new URL(url).port}`);

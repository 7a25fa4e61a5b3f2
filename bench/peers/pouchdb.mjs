// PouchDB Server: express-pouchdb on LevelDB in the folder given. LevelDB writes without flushing to the disk.
import express from 'express';
import expressPouchdb from 'express-pouchdb';
import PouchDB from 'pouchdb';

const [, , folder] = process.argv;
const Local = PouchDB.defaults({ prefix: `${folder}/` });
const app = express();
app.use('/', expressPouchdb(Local, { mode: 'minimumForPouchDB', inMemoryConfig: true, logPath: `${folder}/log.txt` }));
const server = app.listen(0, '127.0.0.1', () => console.log(`ready ${server.address().port}`));

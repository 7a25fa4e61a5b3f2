import * as crypto from 'node:crypto';

/** Uses `crypto.hash` of Node.js 20.12 and newer, which takes a third of the time. */
export const sha256: (text: string, encoding: 'hex' | 'base64url') => string =
  crypto.hash === undefined
    ? (text, encoding) => crypto.createHash('sha256').update(text).digest(encoding)
    : (text, encoding) => crypto.hash('sha256', text, encoding);

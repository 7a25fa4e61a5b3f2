/** The prefix of messages in the log after which the stream stores its position. */
export const HEARTBEAT_PREFIX = 'tidemark.heartbeat';

/**
 * Bounds of the HTTP edge, with their units in their names. docs/limits.md lists every one of them with its value.
 * They are properties of the server: an operator who needs others puts a proxy in front, or asks for a setting.
 */

// Sockets and what is read from them

/** Sockets open at once, beside those of devices that listen; whoever comes later is closed without an answer. */
export const SOCKETS_MAX = 10_000;
/** How long a socket stays open after its request was answered unread, so that the answer can arrive. */
export const LINGER_MS = 2_000;
/**
 * What is still read of a request that has been answered. A connection lives on after a body of at most this size; a
 * larger one, or one that does not say its size, closes it.
 */
export const DISCARDED_BYTES_MAX = 1_048_576;
/** Requests sent ahead on a connection (pipelined) that wait for the answer before them. Exceeded: it is closed. */
export const PIPELINED_WAITING_MAX = 16;
/** How long a caller may read nothing of an answer. Exceeded: the connection is closed. */
export const STALL_MS_MAX = 60_000;
/** Exceeded: `headers_too_large`. */
export const HEADER_BYTES_MAX = 16_384;
/** Exceeded: `uri_too_long`. */
export const URL_BYTES_MAX = 8_192;
/** One part of a path: a name of 255 bytes may be percent-encoded, three characters a byte. Exceeded: `uri_too_long`. */
export const PARAM_UNITS_MAX = 1_024;
/** Exceeded: `request_timeout`. */
export const HEADERS_TIMEOUT_MS = 10_000;
/** Exceeded: `request_timeout`. */
export const REQUEST_TIMEOUT_MS = 60_000;
/** How long a connection may stay open between two requests. */
export const KEEP_ALIVE_MS = 72_000;
/** Sockets are looked at this often: whoever is too slow is found at most so much later. */
export const SOCKETS_CHECK_MS = 1_000;

// Bodies

/** Bodies up to this size are not counted as being in flight: as many as there are sockets fit into memory. */
export const IN_FLIGHT_UNCOUNTED_BYTES_MAX = 65_536;
/** Larger bodies being read or worked on at once. One is always taken, however large. Exceeded: `overloaded`. */
export const IN_FLIGHT_BYTES_MAX = 67_108_864;
/** Bytes of a body that are parsed before others get their turn. */
export const PARSE_STRETCH_BYTES = 131_072;
/**
 * Nesting of a whole body. Values are bounded more tightly where they are admitted; this keeps the parser itself from
 * making millions of lists, and lies above every bound that an operator can set there. Exceeded: `too_deep`.
 */
export const BODY_DEPTH_MAX = 1_024;
/** Fields of a body at its top level. Exceeded: `limit_exceeded`. */
export const ENVELOPE_NAMES_MAX = 100;
/** Members of one object in a body, unless more objects are allowed in a write. Exceeded: `limit_exceeded`. */
export const OBJECT_MEMBERS_MAX = 250_000;
/** The body of a login: everybody may send one, so it is no larger than a login and a password can be. */
export const LOGIN_BYTES_MAX = 16_384;

// Logins

/** Failed logins allowed in a window per address, and per account whatever the address. Exceeded: `rate_limited`. */
export const FAILED_LOGINS_PER_ADDRESS_MAX = 5;
export const FAILED_LOGINS_PER_ACCOUNT_MAX = 20;
export const FAILED_LOGINS_WINDOW_MS = 60_000;
/** Addresses and accounts remembered at once; beyond it the longest unused are forgotten. */
export const LOGIN_KEYS_MAX = 10_000;
/** Attempts that may wait until others are known to have failed or not. Exceeded: `overloaded`. */
export const LOGINS_WAITING_MAX = 200;
/** Hashes worked on at a time: each takes about 19 MiB, and a thread that reading files needs, too. */
export const HASHES_AT_ONCE_MAX = 2;
/** Hashes that may wait for their turn. Exceeded: `overloaded`. */
export const HASHES_WAITING_MAX = 100;

// Calls to the backend

/** Calls of one kind (authenticate, query, upload, search) that are with the backend at once: each needs a socket. */
export const BACKEND_CALLS_AT_ONCE_MAX = 32;
/** Calls of one kind that may wait for others to end. Exceeded: `overloaded`. */
export const BACKEND_CALLS_WAITING_MAX = 1_000;
/** How long a call waits for others to end. Exceeded: `overloaded`. */
export const BACKEND_WAIT_MS_MAX = 10_000;
/** Sources that one check of the backend asks for. */
export const BACKEND_CHECK_SOURCES_MAX = 100;
/** Searches of one device at once. Exceeded: `rate_limited`. */
export const SEARCHES_PER_DEVICE_MAX = 2;

// Snapshots and compression

/** Snapshots one device may have under way. Exceeded: `rate_limited`. */
export const SNAPSHOTS_PER_DEVICE_MAX = 4;
/** Snapshots under way at one server; each may hold a line in memory. Exceeded: `overloaded`. */
export const SNAPSHOTS_MAX = 200;
/** When whoever was turned away for that may come again. */
export const SNAPSHOT_RETRY_AFTER_S = 5;
/** Answers compressed at a time: each takes a thread, and the pool of four must have some left for passwords. */
export const COMPRESSIONS_AT_ONCE_MAX = 2;
/** Answers to pulls that may wait for that; beyond it they leave uncompressed. */
export const COMPRESSIONS_WAITING_MAX = 64;

// How the server is

/** The share of the memory there is that the server may use unless `overload.rss_bytes_max` is set. */
export const MEMORY_SHARE_MAX = 0.8;

/** Between two measurements of how late the event loop is. Each wakes the process, also when it is idle. */
export const EVENT_LOOP_SAMPLE_MS = 20;
/** How often is looked whether the server can keep up. */
export const LOAD_SAMPLE_MS = 500;
/** When whoever was turned away for that may come again. */
export const OVERLOAD_RETRY_AFTER_S = 2;
/** Below this the server says that it is not ready: the next write may be refused. */
export const FREE_DISK_BYTES_MIN = 67_108_864;
/** Queues whose lag readiness looks at. */
export const QUEUES_LOOKED_AT_MAX = 100;

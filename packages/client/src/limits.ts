/** Every bound of the device SDK, with its unit in its name. */

/** Random bytes in the id of an object or upload: 128 bits, so that no two devices ever choose the same. */
export const ID_BYTES = 16;
/** Text of the uploads in one push, in UTF-16 units; one upload may exceed it. The server takes ten times as much. */
export const PUSH_UNITS_MAX = 500_000;
/** Acknowledgements in one call; the others follow with the next one. */
export const ACKNOWLEDGED_PER_CALL = 2_000;
/** A request, from its beginning to the last byte of the answer. */
export const REQUEST_MS_MAX = 60_000;
/** Silence in the stream of a snapshot. */
export const STREAM_SILENCE_MS_MAX = 60_000;
/** Silence in the stream of events, in heartbeats of the server, and before the server has said how long one is. */
export const HEARTBEATS_MISSED_MAX = 2.5;
export const HEARTBEAT_MS_DEFAULT = 30_000;
/** A line of a stream, in UTF-16 units. A page of the server is far smaller. */
export const LINE_UNITS_MAX = 64_000_000;
/** The first pause after a failure is at most this long, and each further one twice as long as the one before. */
export const PAUSE_MS_FIRST = 1_000;
export const PAUSE_MS_MAX = 60_000;
/** The longest time a server may ask us to stay away: an hour. */
export const RETRY_AFTER_MS_MAX = 3_600_000;
/** Between two pulls while there is no stream of events. */
export const POLL_MS_DEFAULT = 60_000;
/** The same while there is one: should a hint be lost on its way, it is not missed for longer than this. */
export const POLL_MS_LIVE = 900_000;
/** How long the list of sources is believed. */
export const SOURCES_FRESH_MS = 300_000;
/** A token is refreshed when this part of its life is over, and then not again for a while, should the clock be wrong. */
export const TOKEN_LIFE_USED_MAX = 0.8;
export const REFRESH_PAUSE_MS = 600_000;
/** A first sync with more objects than this still to come goes on as a snapshot. */
export const SNAPSHOT_FROM_OBJECTS = 2_000;
/** Links kept per source; beyond it the oldest are forgotten. */
export const LINKS_PER_SOURCE_MAX = 10_000;
/** Changes a device may pile up before it has to be online once. Exceeded: `limit_exceeded`. */
export const UPLOADS_WAITING_MAX = 100_000;
/** Upload problems kept for the app to look at; beyond it the oldest are forgotten. */
export const PROBLEMS_MAX = 1_000;
/** Catch-ups of one source that may fail their checksum one after the other before the device pauses. */
export const HEALS_IN_A_ROW_MAX = 1;

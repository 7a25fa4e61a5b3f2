/**
 * Carries short texts between the servers of one installation. They are hints: whoever misses one finds out in another
 * way, only later. So nothing is kept, nothing is repeated, and nobody waits for anybody.
 */
export interface Bus {
  /** Sends the text to all other servers there are. What cannot be sent now is lost. A text has no line breaks. */
  publish(text: string): void;
  /** Lets go of everything; what was published just before may be lost. */
  close(): Promise<void>;
}

export interface BusListener {
  /** A text that somebody has published; on some transports, also one's own. */
  onText(text: string): void;
  /** Texts may have been lost just now. */
  onGap(): void;
}

/** The longest text that is carried, in UTF-16 units. */
export const BUS_TEXT_UNITS_MAX = 262_144;

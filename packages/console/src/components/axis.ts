const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;

/** Returns the upper end of an axis: the next of 2, 4, 10, 20, 40, 100 …, so that its middle is a whole number, too. */
export function axisMax(max: number): number {
  let step = 1;
  while (max > step * 10) step *= 10;
  return [2, 4, 10].map((factor) => factor * step).find((end) => end >= max) ?? step * 10;
}

/** Returns the times at the beginning, the middle and the end of a chart, as its place writes them. */
export function axisTimes(startS: number, endS: number): readonly string[] {
  const isLong = endS - startS > DAY_S;
  return [startS, (startS + endS) / 2, endS].map((atS) => timeWords(atS, isLong));
}

/** A time of the day, with the day where it may be another one than today. */
export function timeWords(atS: number, hasDay: boolean): string {
  const at = new Date(atS * 1_000);
  const time = at.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return hasDay ? `${at.toLocaleDateString('en', { weekday: 'short' })} ${time}` : time;
}

/** How long one bar of a chart is. */
export function stepWords(widthS: number): string {
  if (widthS === MINUTE_S) return 'minute';
  return widthS < 2 * HOUR_S
    ? `${Math.round(widthS / MINUTE_S)} minutes`
    : `${Math.round((widthS / HOUR_S) * 10) / 10} hours`;
}

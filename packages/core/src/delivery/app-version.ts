/** The numbers of a version, and whether it is one before the release of these numbers. */
export interface AppVersion {
  readonly numbers: readonly number[];
  readonly prerelease: string | null;
}

const VERSION = /^v?(\d{1,15}(?:\.\d{1,15}){0,9})(?:-([0-9A-Za-z.-]+))?(?![\d.])/;

/** Returns null if the text does not begin with numbers, such as 2.4.0 or v2.4-beta.1. */
export function readVersion(text: string): AppVersion | null {
  const [, numbers, prerelease = null] = VERSION.exec(text.trim()) ?? [];
  return numbers === undefined ? null : { numbers: numbers.split('.').map(Number), prerelease };
}

/** Whether a version comes before another: 2.9 before 2.10, 2.4.0-beta before 2.4, and 2.4 is 2.4.0. */
export function isBelow(version: AppVersion, other: AppVersion): boolean {
  const length = Math.max(version.numbers.length, other.numbers.length);
  for (let index = 0; index < length; index++) {
    const difference = (version.numbers[index] ?? 0) - (other.numbers[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  if (version.prerelease === null || other.prerelease === null)
    return version.prerelease !== null && other.prerelease === null;
  return comparePrereleases(version.prerelease, other.prerelease) < 0;
}

/** By the rules of semantic versions: numbers by size, and below words. */
function comparePrereleases(left: string, right: string): number {
  const [ours, theirs] = [left.split('.'), right.split('.')];
  for (let index = 0; index < Math.min(ours.length, theirs.length); index++) {
    const order = compareParts(ours[index] ?? '', theirs[index] ?? '');
    if (order !== 0) return order;
  }
  return ours.length - theirs.length;
}

function compareParts(left: string, right: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)];
  if (isNumber && isOtherNumber) return Number(left) - Number(right);
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  return left === right ? 0 : left < right ? -1 : 1;
}

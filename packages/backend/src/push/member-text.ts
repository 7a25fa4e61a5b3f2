/**
 * One object as a member of a JSON object. JSON has no word for numbers that are not finite: written as null they would
 * silently become something else, so they are refused.
 */
export function memberText(id: string, attributes: unknown): string {
  if (typeof attributes !== 'object' || attributes === null || Array.isArray(attributes)) {
    throw new TypeError(`the object ${JSON.stringify(id)} has no attributes`);
  }
  const text = JSON.stringify(attributes);
  // Hardly any text contains a null, so hardly any object is looked at twice.
  if (text.includes('null') && hasUnsayable(attributes)) {
    throw new TypeError(`the object ${JSON.stringify(id)} has a number that is not finite`);
  }
  return `${JSON.stringify(id)}:${text}`;
}

function hasUnsayable(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnsayable);
}

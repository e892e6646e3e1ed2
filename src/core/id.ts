/** Ids are opaque texts to callers; whatever is not one of ours names nothing, and never reaches a statement. */

const largest = 9223372036854775807n

export const isId = (id: unknown): id is string =>
  typeof id === 'string' && /^\d{1,19}$/.test(id) && BigInt(id) <= largest

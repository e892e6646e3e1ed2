/**
 * Checks ids. Ids are opaque texts to callers. A text that is not exactly an id of ours names nothing and never reaches a
 * statement: 017 is not 17.
 */

const largest = 9223372036854775807n

export const isId = (id: unknown): id is string =>
  typeof id === 'string' && /^(?:0|[1-9]\d{0,18})$/.test(id) && BigInt(id) <= largest

/**
 * Writes the instant of a statement in SQL: the clock of the server, or the parameter `$index` under a virtual clock. The engine sends
 * null for the clock of the server (docs/adr/0004-server-clock.md). Statements with a single use write the expression in place.
 */
export const nowParameter = (index: number): string => `coalesce($${index}::timestamptz, now())`

/** Joins class names; leaves out false and undefined. */
export const classes = (...names: (string | false | null | undefined)[]): string => names.filter(Boolean).join(' ')

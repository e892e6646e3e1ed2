/** The highest weight of a group or a batch in fair turns. */
export const mostWeight = 100

/** When whatever is under way in memory has been done, and what it sends has been handed to the network. */
export const afterThis = (work: () => void): void => void setImmediate(work)

/** Returns the largest number of instants in any time window shorter than `ms`. */
export function mostInAnyWindow(instants, ms) {
  const sorted = instants.toSorted((a, b) => a - b)
  let most = 0
  let first = 0
  for (let last = 0; last < sorted.length; last++) {
    while (sorted[last] - sorted[first] >= ms) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

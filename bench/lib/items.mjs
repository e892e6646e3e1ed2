/** The list of a large batch, made as it is read: one in a hundred fails, one in fifty takes a while. */
export async function* itemsOf(total) {
  for (let n = 0; n < total; n++) {
    const item = { n, title: `Document ${n} of the archive`, pages: (n % 40) + 1 }
    yield n % 100 === 7 ? { ...item, fails: true } : n % 50 === 3 ? { ...item, ms: 20 } : item
  }
}

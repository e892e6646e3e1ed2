/** Chooses the documents of a sample: evenly over the list, so that a sorted list gives no sample of one kind. Pure. */

export const outsideSample = 'fora da amostra'

/** For each of `total` documents, whether the document is in a sample of `size`. null: every document is. */
export const sampleOf = (total: number, size: number | null): boolean[] =>
  Array.from({ length: total }, (_, n) =>
    size === null || size >= total ? true : Math.floor(((n + 1) * size) / total) > Math.floor((n * size) / total),
  )
